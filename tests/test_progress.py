"""Progress in a terminal, where a line is written over the one before it, and elsewhere."""

from keras_interp_rnn._io import Count, in_terminal, say


class Output:
    """Shows what was flushed, as a terminal does: back to the margin, to a new line, the rest of the line wiped."""

    def __init__(self, terminal):
        self.terminal, self.pending, self.screen, self.column = terminal, "", [""], 0

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.pending += text

    def flush(self):
        text, self.pending = self.pending, ""
        while text:
            if text.startswith("\x1b[K"):
                self.screen[-1], text = self.screen[-1][: self.column], text[3:]
                continue
            letter, text = text[0], text[1:]
            if letter == "\n":
                self.screen.append("")
            if letter in "\r\n":
                self.column = 0
                continue
            line = self.screen[-1]
            self.screen[-1] = line[: self.column] + letter + line[self.column + 1 :]
            self.column += 1


def test_a_terminal_overwrites_the_line_before(monkeypatch):
    terminal = Output(terminal=True)
    monkeypatch.setattr("sys.stdout", terminal)
    for line in ("", "length 10, step 100", "length 9", "length 11, and more"):
        say(line)
        assert terminal.screen == [line]


def test_a_terminal_keeps_results(monkeypatch):
    terminal = Output(terminal=True)
    monkeypatch.setattr("sys.stdout", terminal)
    say("a long line of progress")
    say("result 1", stays=True)
    assert terminal.screen == ["result 1", ""]
    say("progress")
    say("result 2", stays=True)
    say("more")
    assert terminal.screen == ["result 1", "result 2", "more"]


def test_elsewhere_there_is_only_what_stays(monkeypatch):
    file = Output(terminal=False)
    monkeypatch.setattr("sys.stdout", file)
    say("progress")
    assert file.screen == [""]
    say("result 1", stays=True)
    say("progress")
    say("result 2", stays=True)
    assert file.screen == ["result 1", "result 2", ""]
    say("phase 1", in_logs=True)
    assert file.screen == ["result 1", "result 2", "phase 1", ""]


def test_a_terminal_overwrites_lines_for_logs(monkeypatch):
    terminal = Output(terminal=True)
    monkeypatch.setattr("sys.stdout", terminal)
    say("phase 1", in_logs=True)
    say("phase 2", in_logs=True)
    assert terminal.screen == ["phase 2"]
    say("")
    assert terminal.screen == [""]


def test_a_closed_output_is_no_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    assert not in_terminal()
    say("result", stays=True)


def test_a_count_shows_the_time_left_after_a_second(monkeypatch):
    terminal, clock = Output(terminal=True), [10.0]
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("keras_interp_rnn._io.monotonic", lambda: clock[0])
    count = Count("words", 4000)
    for now, done, shown in (
        (10.0, 0, "words 0 of 4,000"),
        (10.9, 100, "words 100 of 4,000"),
        (12.0, 0, "words 0 of 4,000"),
        (15.0, 1000, "words 1,000 of 4,000, about 15 s left"),
        (40.0, 4000, "words 4,000 of 4,000, about 0 s left"),
    ):
        clock[0] = now
        count.say(done)
        assert terminal.screen == [shown]

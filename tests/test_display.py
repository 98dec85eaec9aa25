from keras_interp_rnn._results import visible


def test_every_character_of_a_name_can_be_seen():
    for name, shown in (
        (" ", "␣"),
        ("a", "a"),
        ("New York", "New York"),
        ("\n", "⏎"),
        ("NAME:\n\tO,", "NAME:⏎⇥O,"),
        ("\r", r"\r"),
        ("\x07", r"\x07"),
        ("\xa0", r"\xa0"),
        ("\u200b", r"\u200b"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("\ud83d", r"\ud83d"),
        ("é日Ω", "é日Ω"),
        ("", "∅"),
        ("_", "_"),
        ("\\", "\\"),
    ):
        assert visible(name) == shown
        assert visible(shown) == shown


def test_no_character_breaks_a_line_or_is_invisible():
    for point in range(0x3000):
        shown = visible(chr(point))
        assert shown.isprintable(), hex(point)
        assert shown.strip() == shown, hex(point)
        assert shown, hex(point)

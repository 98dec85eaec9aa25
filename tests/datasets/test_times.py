"""The order of rows: of time, or a refusal. Cells below are in the order of time; the rows of their tables are not."""

import datetime
import decimal
import fractions
import itertools
import math
import zoneinfo

import numpy as np
import pytest

from keras_interp_rnn import datasets

UTC, CET = datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=1))


def ordered(tmp_path, cells, order="time", **options):
    """The places of cells, which are shuffled in a file, after they were sorted."""
    shuffled = [*range(1, len(cells), 2), *range(0, len(cells), 2)]
    path = tmp_path / "log.csv"
    path.write_text("event;time\n" + "".join(f"e{i};{cells[i]}\n" for i in shuffled), encoding="utf-8")
    [word] = datasets.sessions(path, "event", order=order, delimiter=";", **options).words
    return [int(event[1:]) for event in word]


READ = {
    "dates": ["2009-12-31", "2010-01-01", "2010-10-01"],
    "date and time": ["2024-01-31T09:05:00", "2024-01-31T10:05:00", "2024-02-01T00:00:00"],
    "with a blank": ["2024-01-31 09:05:00", "2024-01-31 10:05:00"],
    "without seconds": ["2024-01-31 09:05", "2024-01-31T10:05"],
    "fractions of any length": ["2024-01-31T09:05:00", "2024-01-31T09:05:00.049", "2024-01-31T09:05:00,5"],
    "nanoseconds": ["2024-01-31T09:05:00.000000001Z", "2024-01-31T09:05:00.000000002Z"],
    "zones": ["2024-01-01T10:00:00+02:00", "2024-01-01T08:30:00Z", "2024-01-01T10:00:00+01:00", "2024-01-01T04:30-05"],
    "zones without a colon": ["2024-01-01 10:00:00 +0200", "2024-01-01 08:30:00 UTC", "2024-01-01 10:00:00+0100"],
    "basic form": ["20231231T235959Z", "20240101T000000Z", "20240101T010001+0100"],
    "days alone": ["20231231", "20240101"],
    "year first with slashes": ["2023/12/31 9:05", "2024/1/2 10:15", "2024/1/10 8:00"],
    "year first with dots": ["2023.12.31", "2024.01.01"],
    "midnight of R": ["2024-01-01", "2024-01-01 00:00:01", "2024-01-02"],
    "end of a day": ["2024-01-01T23:59:59", "2024-01-01T24:00:00", "2024-01-02T00:00:01"],
    "a leap second": ["2016-12-31T23:59:59.9Z", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"],
}


@pytest.mark.parametrize("name", READ)
def test_iso_8601_is_read(tmp_path, name):
    assert ordered(tmp_path, READ[name]) == [*range(len(READ[name]))]


FORMATS = {
    "%d-%m-%Y:%H.%M": ["30-12-2010:11.02", "31-12-2010:10.06", "05-01-2011:15.12", "06-01-2011:11.18"],
    "%m/%d/%Y %H:%M": ["12/31/2019 9:05", "1/2/2020 9:05", "1/2/2020 10:15", "1/10/2020 8:00"],
    "%a %b %d %H:%M:%S %Y": ["Sun Dec 04 04:47:44 2005", "Mon Dec 05 01:00:00 2005", "Wed Dec 07 01:00:00 2005"],
    "[%a %b %d %H:%M:%S %Y]": ["[Sun Dec 04 04:47:44 2005]", "[Mon Dec 05 01:00:00 2005]"],
    "%d/%b/%Y:%H:%M:%S %z": ["30/Jan/2024:23:30:00 +0200", "30/Jan/2024:22:00:00 +0000", "01/Feb/2024:00:00:00 +0100"],
    "%b %d %H:%M:%S": ["Feb 29 23:59:59", "Mar  1 00:00:00", "Mar 10 00:00:00", "Jul  2 00:00:00"],
    "%m/%d/%Y %I:%M %p": ["12/31/2023 11:59 PM", "01/01/2024 12:30 AM", "01/01/2024 9:05 AM", "01/01/2024 12:30 PM"],
    "%d.%m.%Y": ["31.12.2023", "01.01.2024", "02.01.2024"],
    "%y%m%d %H%M%S": ["081109 203615", "081110 000001", "090101 000000"],
    "%Y-%m": ["2023-12", "2024-01"],
    "%G-W%V-%u": ["2020-W53-7", "2021-W01-1", "2021-W10-1"],
    "%A, %B %d, %Y": ["Sunday, December 31, 2023", "Monday, January 1, 2024"],
}


@pytest.mark.parametrize("form", FORMATS)
def test_text_of_another_form_is_refused_and_read_by_its_format(tmp_path, form):
    with pytest.raises(datasets.DataError, match="a column whose order is that of time") as caught:
        ordered(tmp_path, FORMATS[form])
    assert "column 'time'. Write order={'time': " in str(caught.value)
    assert form in str(caught.value) or form == "%A, %B %d, %Y", "the remedy is the format"
    assert ordered(tmp_path, FORMATS[form], {"time": form}) == [*range(len(FORMATS[form]))]


@pytest.mark.parametrize(
    ("cells", "remedy"),
    [
        (["1", "2", "10"], r"If these are numbers that grow with time, write numbers=\['time'\]"),
        (
            ["05012011", "30122010"],
            "If these are numbers that grow with time, .* if not, write order={'time': '%d%m%Y'}",
        ),
        (["1.10", "1.9"], "If these are numbers that grow with time"),
        (["9:59", "10:00"], r"needs its date, as midnight may lie between: order=\['date', 'time'\]"),
        (["23:59:59", "00:00:01"], "needs its date, .* if none does, write order={'time': '%H:%M:%S'}"),
        (["9:59", "10:00"], "if none does, write order={'time': '%H:%M'}"),
        (["99:59", "100:00"], "if none does, write order={'time': function}"),
        (["9:05 AM", "12:30 PM"], "Write order={'time': format}"),
        (["2024-01-01 10:00 CET", "2024-01-01 10:00 EST"], "Write order={'time': format}"),
        (["2024-13-01", "2024-01-02"], "Received: '2024-13-01'"),
        (["2023-02-29", "2024-01-02"], "Received: '2023-02-29'"),
        (["2024-01-01T25:00", "2024-01-02"], "Received: '2024-01-01T25:00'"),
        (["Monday", "Tuesday"], "Write order={'time': format}"),
        (["Dec 31 23:59:59", "Jan  1 00:00:00"], "Write order={'time': format}, .* or a function of the cell"),
        (["early", "2024-01-01"], "Received: 'early'"),
        (["2024-01-05 13-00", "2024-01-05 12-59"], "Received: '2024-01-05 12-59'"),
        (["2024-01-05 08-12", "2024-01-05 09-13"], "Received: '2024-01-05 09-13'"),
        (["2024-01-05T08-05", "2024-01-05T09-06"], "Received: '2024-01-05T09-06'"),
        (["2024-01-05 12:30-45", "2024-01-05 12:31-05"], "Received: '2024-01-05 12:30-45'"),
        (["2024-01-05T12:00+99:99", "2024-01-06T12:00+00:00"], "99:99'"),
        (["2024-01-05T12:00+14:30", "2024-01-06T12:00+02:00"], "14:30'"),
        (["2024-01-05T12:00+02:60", "2024-01-06T12:00+02:00"], "02:60'"),
        (["2024-01-05 123", "2024-01-05 1130"], "Received: '2024-01-05 123'"),
    ],
)
def test_text_whose_order_may_not_be_that_of_time_is_refused(tmp_path, cells, remedy):
    with pytest.raises(datasets.DataError, match=remedy):
        ordered(tmp_path, cells)


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["2024 10 1", "2024 10 2"], "%Y %W %u"),
        (["2024-W10-1", "2024-W10-2"], "%G-W%V-%u"),
        (["31.12.99", "01.01.00", "31.12.23"], "%d.%m.%y"),
        (["Jan 05", "Feb 01", "Mar 28"], "%b %d"),
        (["Sep 05", "Oct 01", "Dec 28"], "%b %d"),
        (["00:10", "00:11", "02:03"], "%M:%S"),
    ],
)
def test_a_format_that_keeps_all_of_time_is_read(tmp_path, cells, form):
    assert ordered(tmp_path, cells, {"time": form}) == [*range(len(cells))]


def test_rows_that_go_back_by_most_of_a_year_are_of_two(tmp_path):
    path = tmp_path / "log.csv"
    days = ["Mar 05", "Apr 08", "May 11", "Jun 14", "Jul 17", "Aug 20", "Sep 23", "Oct 26", "Nov 27"]
    rows = [f"e{i},{day}" for i, day in enumerate([*days, days[0]])]
    path.write_text("\n".join(["event,time", *rows[:-1]]))
    assert len(datasets.sessions(path, "event", order={"time": "%b %d"}).words[0]) == 9
    path.write_text("\n".join(["event,time", *rows]))
    with pytest.raises(datasets.DataError, match="must lie in one year. Received: 05 March and 27 November"):
        datasets.sessions(path, "event", order={"time": "%b %d"})


def test_numbers_are_sorted_as_numbers(tmp_path):
    cells = ["-1", "2", "9.5", "10", "1e3", "1700000000.123456788", "1700000000.123456789", "9007199254740993"]
    assert ordered(tmp_path, cells, numbers="time") == [*range(8)]
    assert ordered(tmp_path, ["2", "10"], {"time": int}) == [0, 1]


def test_a_function_says_when_and_may_leave_rows_out(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("event,time\na,t-10\nb,t-9\nc,unknown\nd,t-1\n")
    order = {"time": lambda cell: int(cell[2:]) if cell.startswith("t-") else None}
    data = datasets.sessions(path, "event", order=order)
    assert (data.words, data.missed) == ([("d", "b", "a")], {"time": 1})
    with pytest.raises(
        datasets.DataError, match=r"be read by the function. Received: 't-10' in line 2 of .*ValueError"
    ):
        datasets.sessions(path, "event", order={"time": int})
    with pytest.raises(datasets.DataError, match="must return values that can be compared"):
        datasets.sessions(path, "event", order={"time": lambda cell: 1 if cell == "t-9" else (cell,)})


def test_text_of_a_function_is_a_time_or_is_refused(tmp_path):
    cells = ["2024-01-01 at 10:00+02:00", "2024-01-01 at 08:30Z"]
    assert ordered(tmp_path, cells, {"time": lambda cell: cell.replace("at ", "")}) == [0, 1]
    with pytest.raises(datasets.DataError, match="whose order is that of time: .* Received: '10'"):
        ordered(tmp_path, ["t9", "t10"], {"time": lambda cell: cell[1:]})
    assert ordered(tmp_path, ["t9", "t10"], {"time": lambda cell: int(cell[1:])}) == [0, 1]


@pytest.mark.parametrize(
    "order",
    [
        ["day", "clock"],
        {("day", "clock"): "%Y-%m-%d %H:%M:%S"},
        {"day": "%Y-%m-%d", "clock": "%H:%M:%S"},
        {("day", "clock"): lambda day, clock: f"{day} {clock}"},
    ],
)
def test_date_and_time_may_stand_in_two_columns(tmp_path, order):
    rows = ["2024-01-02,00:00:01,c", "2024-01-01,23:59:59,b", "2024-01-01,09:59:00,a", "2024-01-02,,x", ",09:59:00,y"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["day,clock,event", *rows]))
    data = datasets.sessions(path, "event", order=order)
    assert (data.words, data.missed) == ([("a", "b", "c")], {"day": 1, "clock": 1})


@pytest.mark.parametrize(
    ("rows", "remedy", "order"),
    [
        (
            ["2024-01-02,12:30 AM,b", "2024-01-01,11:00 PM,a"],
            r"Write order={\('day', 'clock'\): '%Y-%m-%d %I:%M %p'}: the columns are joined by blanks",
            {("day", "clock"): "%Y-%m-%d %I:%M %p"},
        ),
        (["02.01.2024,9:05,b", "30.12.2023,10:00,a"], "'%d.%m.%Y %H:%M'}", {("day", "clock"): "%d.%m.%Y %H:%M"}),
        (["2024-01-01,10,b", "2024-01-01,9x,a"], r"Write order={\('day', 'clock'\): format}", {"clock": len}),
        (["2024-01-01,10.5,b", "2024-01-01,9,a"], r"write numbers=\['clock'\]", ["day", "clock"]),
    ],
)
def test_the_remedy_for_two_columns_names_both(tmp_path, rows, remedy, order):
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["day,clock,event", *rows]))
    with pytest.raises(datasets.DataError, match=remedy):
        datasets.sessions(path, "event", order=["day", "clock"])
    numbers = ["clock"] if isinstance(order, list) else ()
    words = datasets.sessions(path, "event", order=order, numbers=numbers).words
    assert words == [("b", "a") if order == {"clock": len} else ("a", "b")]


def test_a_zone_beside_the_time_of_day_counts(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("day,clock,event\n2024-01-01,23:00:00Z,b\n2024-01-02,00:30:00+02:00,a\n2024-01-01,23:30:00Z,c\n")
    assert datasets.sessions(path, "event", order=["day", "clock"]).words == [("a", "b", "c")]


def test_of_several_columns_the_first_decides_and_equal_rows_keep_their_order(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("day,step,event\n2024-01-02,1,d\n2024-01-01,10,c\n2024-01-01,2,a\n2024-01-01,2,b\n")
    assert datasets.sessions(path, "event", order=["day", "step"], numbers="step").words == [tuple("abcd")]
    assert datasets.sessions(path, "event", order="day").words == [tuple("cabd")]


@pytest.mark.parametrize(
    ("cells", "form", "rule"),
    [
        (["Dec 31 23:59:59", "Jan  1 00:00:00"], "%b %d %H:%M:%S", "Times without a year must lie in one year"),
        (["365", "001"], "%j", "Times without a year must lie in one year"),
        (["Dec 31", "Feb 01"], "%b %d", "one year. Received: 01 February and 31 December in column 'time'"),
        (["Nov 30", "Jan 02"], "%b %d", "Times without a year must lie in one year"),
        (["Mar 01", "Oct 15"], "%b %d", "Times without a year must lie in one year"),
        (["31.12.68", "01.01.69"], "%d.%m.%y", "one century. Received: 01 January 1969 and 31 December 2068"),
        (["1 09:00", "2 08:00"], "%u %H:%M", "days of different weeks would be one"),
        (["1 09:00", "2 08:00"], "%w %H:%M", "days of different weeks would be one"),
        (["2024-01 Mon", "2024-01 Tue"], "%Y-%m %a", "days of different weeks would be one"),
        (["2024 10:00", "2024 11:00"], "%Y %H:%M", "hours of different months would be one"),
        (["2024-01 10:00", "2024-01 11:00"], "%Y-%m %H:%M", "hours of different days would be one"),
        (["10 30", "10 31"], "%H %S", "seconds of different minutes would be one"),
        (["x", "x"], "x", "it reads no time"),
        (["10:00 CET", "09:30 UTC"], "%H:%M %Z", "%Z leaves the zone out"),
        (["01:00 PM", "02:00 AM"], "%H:%M %p", "%p is read with %I alone"),
        (["01:00", "02:00"], "%I:%M", "%I needs %p"),
        (["2024 01", "2024 02"], "%Y %W", "read with a day of the week alone"),
        (["31 10:00", "01 10:00"], "%d %H:%M", "days of different months would be one"),
        (["1.2.2024", "x"], "%d.%m.%Y", "Received: 'x' in line 2 of .*, column 'time' .ValueError: time data"),
        (["1.2.2024", "2.2.2024"], "%d.%m.%Q", "'Q' is a bad directive"),
    ],
)
def test_a_format_that_leaves_out_a_part_of_time_is_refused(tmp_path, cells, form, rule):
    with pytest.raises(datasets.DataError, match=rule):
        ordered(tmp_path, cells, {"time": form})


@pytest.mark.parametrize("cells", [["2024-01-01T10:00Z", "2024-01-01T10:00"], ["2024-01-01", "2024-01-01T10:00Z"]])
def test_times_with_a_zone_and_without_have_no_order(tmp_path, cells):
    with pytest.raises(datasets.DataError, match="must name times that all have a zone, or none. .* such as line"):
        ordered(tmp_path, cells)


A_DAY = datetime.datetime(2024, 1, 1)


@pytest.mark.parametrize(
    "cells",
    [
        [A_DAY, A_DAY.replace(hour=9), A_DAY.replace(hour=10)],
        [A_DAY.replace(tzinfo=CET), A_DAY.replace(tzinfo=UTC)],
        [datetime.date(2023, 12, 31), datetime.date(2024, 1, 1)],
        [datetime.timedelta(9), datetime.timedelta(10)],
        np.array(["2024-01-01T00:00:00.000000001", "2024-01-01T00:00:00.000000002"], "datetime64[ns]"),
        np.array([9, 10], "timedelta64[s]"),
        [1, 1.5, decimal.Decimal("1.75"), 2**70],
        np.array([9, 10], np.uint8),
        ["2024-01-01T10:00:00+02:00", "2024-01-01T08:30:00Z"],
    ],
)
def test_times_and_numbers_of_a_mapping_are_sorted_as_they_are(cells):
    for places in itertools.permutations(range(len(cells))):
        table = {"event": [*places], "time": [cells[i] for i in places]}
        assert datasets.sessions(table, "event", order="time").words == [tuple(range(len(cells)))]


class Version:
    """What Python sorts, but not in the order of time."""

    def __init__(self, text):
        self.text = text

    def __lt__(self, other):
        return self.text < other.text


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        ([A_DAY, A_DAY.replace(tzinfo=UTC)], "must name times that all have a zone, or none"),
        ([A_DAY, datetime.date(2024, 1, 1)], "Received: date and datetime in column 'time'"),
        ([1, "2024-01-01"], "Received: int and str in column 'time'"),
        ([datetime.time(23), datetime.time(1)], "Received: time in column 'time'"),
        ([True, False], "Received: bool in column 'time'"),
        ([1j, 2j], "Received: complex in column 'time'"),
        (["b", "a"], "a column whose order is that of time: .* Received: 'b' in row 1, column 'time'"),
        (np.array([b"10:00", b"9:59"]), "numbers, of dates with times, or of texts of these. Received: bytes"),
        ([("10:00",), ("9:59",)], "Received: tuple in column 'time'"),
        ([["10:00"], ["9:59"]], "Received: list in column 'time'"),
        ([frozenset("a"), frozenset("ab")], "Received: frozenset in column 'time'"),
        ([(1,), (1, 2)], "Received: tuple in column 'time'"),
        ([Version("10"), Version("9")], "Received: Version in column 'time'"),
        ([A_DAY.replace(fold=1), A_DAY], "Received: datetime and datetime with fold=1 in column 'time'"),
    ],
)
def test_cells_of_a_mapping_that_have_no_order_are_refused(cells, rule):
    with pytest.raises(datasets.DataError, match=rule):
        datasets.sessions({"event": "ab", "time": cells}, "event", order="time")


@pytest.mark.parametrize(
    "made",
    [
        lambda place: place.encode(),
        lambda place: (place,),
        lambda place: [place],
        lambda place: place > "1",
        lambda place: (int(place), math.nan),
        lambda place: A_DAY.replace(fold=int(place) % 2),
        lambda place: A_DAY if place > "1" else A_DAY.replace(tzinfo=UTC),
        lambda place: A_DAY if place > "1" else A_DAY.date(),
        lambda place: np.array([int(place), 0]),
        lambda place: float(f"1e{place}00"),
    ],
)
def test_what_a_function_makes_is_sorted_only_if_its_order_is_that_of_time(made):
    with pytest.raises(datasets.DataError, match="Received: .* in (column 'time'|row 1)"):
        datasets.sessions({"event": "abc", "time": ["1", "2", "3"]}, "event", order={"time": made})


@pytest.mark.parametrize(
    "made",
    [
        int,
        lambda place: (0, [int(place), fractions.Fraction(1, 3)]),
        lambda place: ("2024-01-01", int(place)),
        lambda place: datetime.time(int(place)),
        lambda place: np.float64(place),
        lambda place: np.datetime64(int(place), "ns"),
        lambda place: (A_DAY + datetime.timedelta(int(place)), datetime.timedelta(1)),
    ],
)
def test_what_a_function_makes_may_be_numbers_times_or_tuples_of_these(made):
    table = {"event": "bca", "time": ["2", "10", "1"]}
    assert datasets.sessions(table, "event", order={"time": made}).words == [("a", "b", "c")]


@pytest.mark.parametrize("made", [None, lambda cell: cell, lambda cell: (cell, 0)])
def test_the_hour_that_clocks_show_twice_is_sorted_by_its_instants(made):
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    early, late = (datetime.datetime(2024, 10, 27, 2, 30 - 20 * fold, tzinfo=berlin, fold=fold) for fold in (0, 1))
    table = {"event": "ba", "time": [late, early]}
    order = "time" if made is None else {"time": made}
    assert datasets.sessions(table, "event", order=order).words == [("a", "b")]


@pytest.mark.parametrize(
    ("days", "clocks"),
    [
        ([datetime.date(2024, 1, i) for i in (2, 1, 2)], [datetime.time(1), datetime.time(23), datetime.time(2)]),
        ([A_DAY.replace(day=i) for i in (2, 1, 2)], [datetime.time(1), datetime.time(23), datetime.time(2)]),
        ([f"2024-01-0{i} 00:00:00" for i in (2, 1, 2)], ["9:59", "23:00", "10:00"]),
        ([f"2024-01-0{i}T00:00" for i in (2, 1, 2)], ["09:59:00", "23:00:00", "10:00:00"]),
    ],
)
def test_dates_and_times_of_day_are_joined(days, clocks):
    table = {"event": "bac", "day": days, "clock": clocks}
    assert datasets.sessions(table, "event", order=["day", "clock"]).words == [("a", "b", "c")]

"""`plimsoll calendar` against other people's calendars: business days of the built-in sets against the
package `holidays`, calendar files against `icalendar` with `recurring-ical-events`."""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import holidays
import icalendar
import pytest
import recurring_ical_events

FILES = Path(__file__).resolve().parents[1] / "fixtures" / "calendars"
YEARS = range(2019, 2029)
UTC = dt.UTC

SETS = {
    "US-federal": lambda year: holidays.country_holidays("US", years=year),
    "UK": lambda year: holidays.country_holidays("GB", subdiv="ENG", years=year),
    "TARGET": lambda year: holidays.financial_holidays("ECB", years=year),
    "NYSE": lambda year: holidays.financial_holidays("NYSE", years=year),
}


def business_days(plimsoll, name):
    """Local dates of every business day of the ten years, as the command gives them."""
    page = plimsoll.json(
        *("calendar", "--rule", "business days", "--holidays", name, "--zone", "UTC"),
        *("--from", f"{YEARS[0]}-01-01", "--next", 366 * len(YEARS)),
    )
    days = {dt.date.fromisoformat(row["id"]) for row in page["occurrences"]}
    return {day for day in days if day.year in YEARS}, page["calendar"]


@pytest.mark.parametrize("name", SETS)
def test_business_days_of_ten_years(plimsoll, name):
    """Protects every holiday of the built-in calendars: no day of ten years is open here and closed there,
    or the other way round."""
    closed = {day for year in range(YEARS[0] - 1, YEARS[-1] + 2) for day in SETS[name](year)}
    first, last = dt.date(YEARS[0], 1, 1), dt.date(YEARS[-1], 12, 31)
    every = (first + dt.timedelta(days=n) for n in range((last - first).days + 1))
    expected = {day for day in every if day.weekday() < 5 and day not in closed}
    got, calendar = business_days(plimsoll, name)
    print(f"{name}: {len(expected)} business days, {YEARS[0]} to {YEARS[-1]}, by {calendar['source']}")
    assert sorted(got ^ expected) == []


def reference(file, zone, first, last):
    """Occurrences by the reference libraries: name, start and end in UTC."""
    calendar = icalendar.Calendar.from_ical(file.read_bytes())
    rows = set()
    for event in recurring_ical_events.of(calendar).between(first, last):
        start, end = event["DTSTART"].dt, event.get("DTEND")
        end = end.dt if end else start + event["DURATION"].dt
        if not isinstance(start, dt.datetime):
            # A whole day without an end lasts a day (RFC 5545, 3.6.1); to the reference it is none.
            end = max(end, start + dt.timedelta(days=1))
            start, end = (dt.datetime.combine(day, dt.time(), zone) for day in (start, end))
        if str(event.get("STATUS", "")) != "CANCELLED":
            rows.add((str(event["SUMMARY"]), start.astimezone(UTC), end.astimezone(UTC)))
    return rows


@pytest.mark.parametrize("file", sorted(FILES.glob("*.ics")), ids=lambda file: file.stem)
def test_calendar_files(plimsoll, file):
    """Protects the reading of calendar files as clients write them: the same names, starts and ends as the
    reference over two years."""
    zone = ZoneInfo("America/New_York")
    first, last = dt.datetime(2026, 1, 1, tzinfo=zone), dt.datetime(2028, 1, 1, tzinfo=zone)
    page = plimsoll.json(
        *("calendar", "--in", file, "--zone", "America/New_York", "--from", "2026-01-01", "--next", 5000)
    )
    instant = dt.datetime.fromisoformat
    got = {
        (row["event"], instant(row["start_utc"]), instant(row["end_utc"]))
        for row in page["occurrences"]
        if instant(row["start_utc"]) < last
    }
    # A change keeps the name of its series here, and has its own there.
    series = {name for name, _, _ in got}
    expected = {
        (next((known for known in series if name.startswith(known)), name), start, end)
        for name, start, end in reference(file, zone, first, last)
    }
    print(f"{file.name}: {len(expected)} occurrences")
    assert len(expected) > 3
    assert sorted(got - expected) == []
    assert sorted(expected - got) == []


def test_ten_files_are_compared():
    """Protects the comparison from shrinking."""
    assert len(list(FILES.glob("*.ics"))) >= 10


def event(*lines):
    """A calendar file of one event."""
    return "\r\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", "SUMMARY:Close", *lines, "END:VEVENT", "END:VCALENDAR", ""])


ENDLESS = event("DTSTART:20260105T090000Z", "DTEND:20260105T100000Z", "RRULE:FREQ=DAILY")
BAD_FILES = {
    "floating times": (event("DTSTART:20260105T090000", "DURATION:PT1H"), "in.ics:2", "--zone"),
    "an unknown zone": (event("DTSTART;TZID=Customized Time Zone:20260105T090000"), "in.ics:4", "Customized Time Zone"),
    "a day that is none": (event("DTSTART;VALUE=DATE:20260230"), "in.ics:4", "no day of the calendar"),
    "a rule that never happens": (
        event("DTSTART;VALUE=DATE:20260105", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
        "in.ics:5",
        "never happens",
    ),
    "a rule of seconds": (event("DTSTART:20260105T090000Z", "RRULE:FREQ=SECONDLY"), "in.ics:5", "within a day"),
    "an end before the start": (event("DTSTART:20260105T090000Z", "DTEND:20260104T090000Z"), "in.ics:5", "before it"),
    "half a file": (ENDLESS[:60], "in.ics:2", "not closed"),
    "no calendar": ("hello\r\n", "in.ics:1", "BEGIN:VCALENDAR"),
    "nothing": ("", "in.ics", "BEGIN:VCALENDAR"),
}


@pytest.mark.parametrize("bad", BAD_FILES)
def test_bad_files(plimsoll, bad):
    """Protects users from a wrong date: exit code 2 and one sentence with file and line."""
    text, place, hint = BAD_FILES[bad]
    (plimsoll.folder / "in.ics").write_bytes(text.encode())
    said = plimsoll.run("calendar", "--in", "in.ics", code=2).stderr.decode()
    assert place in said and hint in said and said.count("\n") == 1, said


@pytest.mark.parametrize(
    "rule, hint",
    [
        ("february 30", "February has no day 30"),
        ("WD+24 of month", "never happens"),
        ("2026-03-08 02:30-02:45", "does not exist in America/New_York"),
        ("RRULE:FREQ=MONTHLY;BYMONTHDAY=32 09:00-10:00", "from -31 to 31"),
        ("last buisness day of month", "understood are"),
        ("gone.ics", "gone.ics"),
    ],
)
def test_bad_rules(plimsoll, rule, hint):
    """Protects the same for rules on the command line."""
    flags = ("--zone", "America/New_York", "--holidays", "US-federal", "--from", "2026-01-01")
    assert hint in plimsoll.run("calendar", "--rule", rule, *flags, code=2).stderr.decode()


def test_beyond_what_is_known(plimsoll):
    """Protects the honest answer: past `valid_through` a day is unknown, not open, and the answer says so."""
    flags = ("--rule", "last business day of month", "--holidays", "NYSE")
    page = plimsoll.json("calendar", *flags, "--from", "2030-11-15", "--next", 12)
    assert [row["id"] for row in page["occurrences"]] == ["2030-11", "2030-12"]
    assert "known from 2000-01-01 through 2030-12-31 only" in page["notes"][-1]
    said = plimsoll.run("calendar", *flags, "--from", "2031-02-01", code=2).stderr.decode()
    assert "may or may not be a business day" in said


def test_local_time_with_offset_and_utc(plimsoll):
    """Protects what people read off: local time with its offset before and after clocks change, UTC beside
    it, and the calendar's name, source and last known day."""
    page = plimsoll.json(
        *("calendar", "--rule", "every sunday 09:00-10:00", "--holidays", "US-federal"),
        *("--from", "2026-10-25", "--next", 2),
    )
    assert [(row["start"], row["start_utc"]) for row in page["occurrences"]] == [
        ("2026-10-25T09:00:00-04:00", "2026-10-25T13:00:00Z"),
        ("2026-11-01T09:00:00-05:00", "2026-11-01T14:00:00Z"),
    ]
    known = {key: page["calendar"][key] for key in ("name", "source", "valid_through", "zone")}
    assert known == {
        "name": "US-federal",
        "source": "US federal (OPM, 5 USC 6103)",
        "valid_through": "2050-12-31",
        "zone": "America/New_York",
    }


def test_a_spec_with_every_kind_of_rule(plimsoll):
    """Protects the plan's own forms: words, a recurrence rule and a calendar file beside the spec, with
    holidays from a file of one's own; and a mistake in a rule is placed in the spec."""
    (plimsoll.folder / "close.ics").write_bytes(ENDLESS.encode())
    (plimsoll.folder / "own.ics").write_bytes(
        event("DTSTART;VALUE=DATE:20260130", "DTEND;VALUE=DATE:20260131").encode()
    )
    whens = ["last business day of month", "RRULE:FREQ=MONTHLY;BYDAY=-1FR 09:00-18:00", "close.ics#Close"]
    spec = '[policy]\ntime_zone = "Europe/Berlin"\nholidays = "own.ics"\n' + "".join(
        f'[[event]]\nname = "event {n}"\nwhen = "{when}"\nworkflows = {{ close = {{ in_flight = 4 }} }}\n'
        for n, when in enumerate(whens)
    )
    (plimsoll.folder / "plan.toml").write_text(spec)
    page = plimsoll.json("calendar", "--in", "plan.toml", "--from", "2026-01-28", "--next", 6)
    starts = [(row["event"], row["start"]) for row in page["occurrences"]]
    daily = [("event 2", f"2026-01-{day}T10:00:00+01:00") for day in (28, 29, 30, 31)]
    close, friday = ("event 0", "2026-01-29T00:00:00+01:00"), ("event 1", "2026-01-30T09:00:00+01:00")
    assert starts == sorted([*daily, close, friday], key=lambda row: row[1])
    (plimsoll.folder / "plan.toml").write_text(spec.replace("last business day of month", "february 30"))
    said = plimsoll.run("calendar", "--in", "plan.toml", code=2).stderr.decode()
    assert "plan.toml:6" in said and "February has no day 30" in said


def test_ten_megabytes_of_events(plimsoll):
    """Protects the command from a large feed: 10 MB of endless events are read and answered."""
    body = "".join(
        f"BEGIN:VEVENT\r\nUID:{n}\r\nSUMMARY:Event {n}\r\nDTSTART:20200106T{n % 24:02}0000Z\r\nDURATION:PT1H\r\n"
        f"RRULE:FREQ=WEEKLY\r\nDESCRIPTION:{'x' * 60}\r\n  {'y' * 60}\r\nEND:VEVENT\r\n"
        for n in range(40_000)
    )
    text = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{body}END:VCALENDAR\r\n"
    assert len(text) > 10_000_000
    (plimsoll.folder / "large.ics").write_text(text, newline="")
    page = plimsoll.json("calendar", "--in", "large.ics", "--from", "2026-01-01", "--next", 3)
    assert [row["start_utc"] for row in page["occurrences"]] == ["2026-01-05T00:00:00Z"] * 3

"""A report with every block, and names that try to be more than names."""

from datetime import UTC, datetime, timedelta

from jobs.reports.document import (
    Chart,
    ChartType,
    Column,
    Document,
    Figure,
    Figures,
    Gap,
    Section,
    Series,
    Table,
    Text,
    Verdict,
    covered,
)
from jobs.reports.periods import named_period
from jobs.reports.values import ValueType, stamp
from jobs.severity import Severity

NOW = datetime(2026, 11, 23, 6, 0, tzinfo=UTC)
PERIOD = named_period("last-week", "Europe/Berlin", NOW)
LONG = "payments." + "x" * 240
TURNED = "orders\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe"
HEBREW = (
    "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED}\N{HEBREW LETTER VAV}\N{HEBREW LETTER FINAL MEM}"
)
HOSTILE = {
    "right-to-left override": TURNED,
    "right-to-left mark": "a\N{RIGHT-TO-LEFT MARK}b",
    "zero width": "a\N{ZERO WIDTH JOINER}b",
    "end of line": "a\nb",
    "formula": "=HYPERLINK(1)",
    "Typst": "#panic() *x* $a$ `c` @d <e> \\ // /* [",
    "HTML": "<script>alert(1)</script>&\"'",
    "underscores": "__consumer_offsets",
    "long": LONG,
    "Cyrillic": "группа",
    "Greek": "ομάδα",
    "Hebrew": HEBREW,
    "no glyph": "\N{CJK UNIFIED IDEOGRAPH-4E2D}",
}


def days(count: int) -> tuple[str, ...]:
    return tuple(stamp(PERIOD.start + timedelta(days=at)) for at in range(count))


def chart(type_: ChartType, *series: Series, value_type=ValueType.COUNT) -> Chart:
    return Chart(type_.value, f"Chart of {type_}", type_, series, "What it shows.", value_type)


LINES = chart(
    ChartType.LINES,
    Series("east to west", days(7), (10, 20, None, 15_000, None, 80_000, 61_000)),
    Series("__consumer_offsets", days(7), (0, 0, 5_000, 90_000, 40_000, 1_000, 0)),
    value_type=ValueType.DURATION_MS,
)
BARS = chart(
    ChartType.BARS,
    Series("Shrinks", ("broker 1", "broker 2", LONG), (4, 0, 12)),
    Series("Expands", ("broker 1", "broker 2", LONG), (4, 1, 9)),
)
LANES = chart(
    ChartType.LANES,
    Series("orders", days(3), ("Healthy", "Critical", "Healthy"), days(4)[1:], (Severity.HEALTHY, Severity.CRITICAL, Severity.HEALTHY)),
    Series(TURNED, days(2), ("Warning", "Unknown"), days(3)[1:], (Severity.WARNING, Severity.UNKNOWN)),
)  # fmt: skip

GROUPS = Table(
    "groups",
    "Groups",
    (
        Column("group", "Group"),
        Column("lag", "Lag (records)", ValueType.COUNT, "Largest of the period."),
        Column("behind", "Lag (time)", ValueType.DURATION_MS),
        Column("size", "Volume", ValueType.BYTES),
        Column("rate", "Throughput", ValueType.RATE),
        Column("ready", "Ready", ValueType.RATIO),
        Column("at", "Last checkpoint", ValueType.MOMENT),
        Column("member", "Assigned", ValueType.BOOLEAN),
        Column("place", "Committed offset", ValueType.OFFSET, absent="no commit"),
    ),
    (
        ("billing", 1200, 4000, 3 << 20, 12.5, 0.998, "2026-11-20T10:00:00.000Z", True, 1234567),
        (LONG, 0, 0, 0, 0.0, 1.0, "2026-11-20T10:00:00.000Z", False, None),
        ("=1+1", None, None, None, None, None, None, None, 0),
    ),
    hrefs=("/replication/flows/1/?q=<a>", "", "/replication/flows/2/"),
    total=50_000,
)


def document(**changes) -> Document:
    values = {
        "kind": "replication",
        "title": "Replication: east to west",
        "period": PERIOD,
        "before": PERIOD.before(),
        "made_at": stamp(NOW),
        "made_for": "ana",
        "subjects": ("east to west", "west to east"),
        "base_url": "https://crosslog.example/",
        "crosslog": "1.2.3",
        "verdicts": (
            Verdict(Severity.CRITICAL, "Not ready", "Group billing has no checkpoint since 3 h.", "/replication/"),
            Verdict(Severity.WARNING, "Warning", "Lag exceeded 60 s for 2 h 10 m."),
            Verdict(Severity.HEALTHY, "Passed", "No unclean leader election."),
            Verdict(Severity.UNKNOWN, "Unknown", "The quorum has no data."),
        ),
        "sections": sections(),
    }  # fmt: skip
    return Document(**values | changes)


def sections() -> tuple[Section, ...]:
    whole = covered(PERIOD.start, PERIOD.end)
    later = covered(PERIOD.start + timedelta(days=2), PERIOD.end)
    gap = Gap(stamp(PERIOD.start), later["start"], "The cluster was not yet registered.")
    figures = Figures(
        (
            Figure("Max lag", 90_000, ValueType.DURATION_MS, "Worst moment of the period.", "/flows/1/", 4_000),
            Figure("Records", 1_234_567, before=None),
            Figure("Availability", 0.99987, ValueType.AVAILABILITY, "Minutes with a leader / all minutes.", before=1),
            Figure("Volume", None, ValueType.BYTES),
        ),
        has_before=True,
    )  # fmt: skip
    hostile = Table(
        "names", "Names", (Column("what", "What"), Column("name", "Name")), tuple(HOSTILE.items())
    )
    empty = Table(
        "restarts", "Restarts", (Column("flow", "Flow"),), empty="No restarts in this period."
    )
    return (
        Section("lag", "Lag", **whole, blocks=(figures, LINES)),
        Section("groups", "Groups", **later, blocks=(Text("Two\nlines."), GROUPS), gaps=(gap,)),
        Section("names", "Names", **whole, blocks=(hostile, empty)),
        Section("churn", "ISR churn", **whole, blocks=(BARS, LANES)),
        Section("quorum", "Quorum", None, None, blocks=(Figures((Figure("Elections", None),)),)),
    )

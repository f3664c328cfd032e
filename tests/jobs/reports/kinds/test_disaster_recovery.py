"""What the disaster recovery report tells of what was recorded."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jobs.reports.document import Figures
from jobs.reports.kinds.flows.disaster_recovery import build
from jobs.reports.kinds.flows.readiness import Answers, Exposure, Reason, State, Worst
from jobs.reports.kinds.flows.recovery import (
    ApplicationAnswer,
    DisasterRecoveryRecorded,
    Exercise,
    FlowRecovery,
    Freshness,
    Risk,
    cause_of,
)
from jobs.reports.kinds.flows.sampling import Interval
from jobs.severity import Severity
from tests.jobs.reports.kinds.golden_documents import (
    END,
    NOVEMBER,
    START,
    audits_of,
    check_golden,
    document_of,
    objectives_of,
)

READY = State("Ready", Severity.HEALTHY, is_ready=True)
CARE = State("With care", Severity.WARNING, is_ready=False)
UNKNOWN = State("Unknown", Severity.UNKNOWN, is_ready=False)
BLOCKED = State("Blocked", Severity.CRITICAL, is_ready=False)
PAGE = "/replication/1/checkpoints/"
# Right-to-left marks, a formula and as long as Kafka lets a topic be.
STRANGE = "=cmd|'/c'!A0 \u202ereaders\u202c " + "x" * 220


def after(**span):
    return START + timedelta(**span)


def flow(name="orders to west", *changes, groups=(), gaps=(), **fields):
    values = {"exposure": Exposure(), "holds": None, "reasons": ()} | fields
    answers = Answers(name, "", PAGE, changes, values["exposure"], values["holds"])
    return FlowRecovery(answers, START, groups, gaps, values["reasons"])


def group(name, *changes, flow_name="orders to west", **fields):
    return Answers(flow_name, name, "/replication/1/checkpoints/g/", changes, **fields)


def recorded(*flows, **fields):
    return DisasterRecoveryRecorded(NOVEMBER, flows=flows, **fields)


def figures(content):
    found = (
        block for part in content.sections for block in part.blocks if isinstance(block, Figures)
    )
    return {one.label: one for block in found for one in block.figures}


def table(content, name):
    return next(
        one for one in document_of("disaster-recovery", content).tables() if one.name == name
    )


def cells(content, name, column):
    found = table(content, name)
    place = [one.name for one in found.columns].index(column)
    return [row[place] for row in found.rows]


def test_the_whole_document():
    exposure = Exposure(
        after(days=6, hours=23, minutes=59),
        120,
        4_000,
        500,
        9_000,
        Worst(70_000, after(days=2)),
        Worst(600_000, after(days=2, hours=1)),
        Worst(9_000, after(days=3)),
        Worst(90_000, after(days=4)),
    )
    stale = Reason(after(days=2), after(days=2, hours=3), "Checkpoints are 20 m old.", 3)
    holds = Reason(after(days=6), None, "The copy is too far behind the source.")
    first = flow(
        "orders to west",
        (after(days=-3), READY),
        (after(days=2), CARE),
        (after(days=2, hours=1), BLOCKED),
        (after(days=2, hours=2), READY),
        groups=(
            group("readers", (START, READY), exposure=exposure),
            group(STRANGE, (START, READY), (after(days=6), BLOCKED), holds=holds),
        ),
        gaps=(Interval(after(days=4), after(days=4, hours=5)),),
        exposure=exposure,
        reasons=(stale,),
    )
    first = replace(first, fresh=Freshness(after(days=7), after(days=7), after(days=6)))
    second = flow(
        "clicks", (after(days=1), BLOCKED), holds=Reason(after(days=1), None, "No offset sync.")
    )
    now = recorded(
        first,
        second,
        flow("new flow"),
        exercises=(
            Exercise(
                after(days=3),
                after(days=3, minutes=2),
                "orders to west",
                "monthly",
                "Dry run",
                "Failover",
                "Succeeded",
                "ada",
                2,
                0,
                "",
                "/replication/1/failover/1/runs/x/",
            ),
        ),
        risks=(
            Risk(
                "clicks",
                Severity.CRITICAL,
                "Blocked",
                "readers",
                "No offset sync.",
                "Look whether offset syncs are written.",
                after(days=1),
                "/replication/2/findings/",
            ),
        ),
        objectives=objectives_of("orders to west", NOVEMBER),
        audits=audits_of("orders to west"),
        applications=(
            ApplicationAnswer("clicks", "shop", "Ready", Severity.HEALTHY, "", "", PAGE),
            ApplicationAnswer(
                "orders to west",
                STRANGE,
                "Not ready",
                Severity.WARNING,
                "The flow does not select the group.",
                "Add it to the groups of the flow.",
                PAGE,
            ),
        ),
    )
    before = DisasterRecoveryRecorded(
        NOVEMBER.before(),
        flows=(
            replace(
                first,
                answers=replace(first.answers, changes=((START - NOVEMBER.span, READY),)),
                gaps=(),
            ),
        ),
    )
    check_golden("disaster-recovery", build(now, before), NOVEMBER.before(), NOVEMBER)


def test_a_flow_that_was_always_ready_needs_no_more_words():
    content = build(recorded(flow("a", (START, READY))), None)
    assert (content.verdicts[0].level, content.verdicts[0].word) == (Severity.HEALTHY, "Ready")
    assert cells(content, "flows", "ready") == [1]
    assert cells(content, "flows", "cause") == [""]


def test_the_worst_flow_gives_the_word_and_the_reason():
    holds = Reason(after(days=1), None, "No offset sync.")
    content = build(
        recorded(flow("a", (START, READY)), flow("b", (after(days=1), BLOCKED), holds=holds)), None
    )
    verdict = content.verdicts[0]
    assert (verdict.level, verdict.word) == (Severity.CRITICAL, "Blocked")
    assert "1 of 2 flows were ready" in verdict.sentence
    assert "b: No offset sync." in verdict.sentence


def test_a_flow_of_which_the_answer_is_unknown_comes_before_one_that_is_ready():
    content = build(recorded(flow("a", (START, READY)), flow("b", (START, UNKNOWN))), None)
    assert (content.verdicts[0].level, content.verdicts[0].word) == (Severity.UNKNOWN, "Unknown")
    assert cells(content, "flows", "flow") == ["b", "a"]


def test_what_a_failover_loses_is_the_sum_of_the_flows_that_are_known():
    content = build(
        recorded(
            flow("a", (START, READY), exposure=Exposure(START, 100, 2_000, 7)),
            flow("b", (START, READY), exposure=Exposure(START, 20, 9_000, None)),
            flow("c", (START, READY)),
        ),
        None,
    )
    sentence = content.verdicts[0].sentence
    assert (
        "would have lost up to 120 records (9\N{NO-BREAK SPACE}s) and reprocessed up to 7"
        in sentence
    )
    assert "not known of 1 of 3 flows" in sentence


def test_without_an_answer_the_verdict_is_unknown_and_no_section_has_a_period():
    content = build(recorded(), None)
    assert content.verdicts[0].word == "Unknown"
    assert {one.start for one in content.sections} == {None}


def test_an_answer_that_came_in_the_middle_counts_from_there():
    content = build(
        recorded(flow("a", (after(days=6), READY), (after(days=6, hours=6), CARE))), None
    )
    assert cells(content, "flows", "ready") == [0.25]


def test_an_answer_before_a_gap_at_the_end_is_not_the_one_at_the_end():
    gap = Interval(after(days=6), END)
    content = build(recorded(flow("a", (START, READY), gaps=(gap,))), None)
    assert cells(content, "flows", "readiness") == [None]
    assert content.sections[0].end == "2026-11-22T00:00:00.000Z"
    assert content.verdicts[0].word == "Unknown"


LONGEST = Interval(after(days=2), after(days=3))


@pytest.mark.parametrize(
    ("holds", "reasons", "cause"),
    [
        (None, (), "Not recorded."),
        (Reason(after(days=2), None, "Held."), (), "Held."),
        (Reason(after(days=5), None, "Later."), (), "Not recorded."),
        (
            None,
            (Reason(after(days=1), None, "Mild.", 1), Reason(after(days=2), None, "Bad.", 3)),
            "Not recorded. Open then: Bad. (1 more findings)",
        ),
        (None, (Reason(after(days=0), after(days=1), "Over.", 4),), "Not recorded."),
    ],
    ids=["nothing", "still holds", "another time", "findings open then", "findings that had ended"],
)
def test_a_cause_is_told_only_as_far_as_it_is_recorded(holds, reasons, cause):
    assert cause_of(LONGEST, holds, reasons) == cause


def test_the_period_before_stands_beside_it():
    before = replace(
        recorded(flow("a", (START - NOVEMBER.span, BLOCKED))), period=NOVEMBER.before()
    )
    content = build(recorded(flow("a", (START, READY))), before)
    assert (figures(content)["Time ready"].value, figures(content)["Time ready"].before) == (1, 0)
    assert cells(content, "flows", "before") == [0]


def test_a_worst_value_leads_to_its_moment():
    exposure = Exposure(worst_rpo_records=Worst(9, after(days=2)))
    content = build(recorded(flow("a", (START, READY), exposure=exposure)), None)
    assert "from=2026-11-17T23%3A45" in figures(content)["Worst RPO (records)"].href


def test_of_more_rows_than_a_document_holds_the_worst_are_in_it():
    groups = tuple(group(f"g{n:04}", (START, READY if n else BLOCKED)) for n in range(2_100))
    found = table(build(recorded(flow("a", (START, READY), groups=groups)), None), "groups")
    assert (len(found.rows), found.total, found.rows[0][1]) == (2_000, 2_100, "g0000")


def test_findings_that_are_not_kept_any_more_are_a_gap():
    content = build(recorded(flow("a", (START, READY)), findings_from=after(days=30)), None)
    risks = next(one for one in content.sections if one.name == "risks")
    assert risks.gaps[0].why == "Findings that ended before are not kept."

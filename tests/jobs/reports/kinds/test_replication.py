"""What the replication report tells of what was recorded."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from jobs.reports.kinds.flows.lag_samples import LAG_ROW, LagSummary, summarise
from jobs.reports.kinds.flows.replication import build
from jobs.reports.kinds.flows.replication_data import (
    Drift,
    FlowReplication,
    FlowRun,
    ReplicationRecorded,
    Steering,
    TopicEvent,
    TopicLag,
    pauses,
    run_events,
    what_was_done,
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

WHOLE = Interval(START, END)
STRANGE = "+topic\u202e" + "x" * 240


def after(**span):
    return START + timedelta(**span)


def lag(worst_ms=60_000):
    """Lag that rises over the week, a sample each hour; nothing on Wednesday."""
    hours = [hour for hour in range(168) if hour // 24 != 2]
    start_s = int(START.timestamp())
    told = [(start_s + 3600 * h, h * 10, worst_ms * h // 167, 2.0, 0) for h in hours]
    found = summarise(np.array(told, dtype=LAG_ROW), WHOLE)
    gap = Interval(after(days=2), after(days=3))
    return replace(found, gaps=(gap,))


def flow(name="orders to west", summary=None, **fields):
    return FlowReplication(
        name, "/replication/1/", START, summary or LagSummary(gaps=(WHOLE,)), **fields
    )


def run(state="CRASHED", *, start, end=None, flow="orders to west", **fields):
    values = {"error": "", "person": "", "href": f"/runs/{start:%d%H}/"} | fields
    return FlowRun(flow, state, start, start, end, **values)


def steered(at, before, after_, action="flow.pause", person="ada"):
    return Steering(at, "orders to west", action, before, after_, person, "/replication/1/control/")


def recorded(*flows, **fields):
    return ReplicationRecorded(NOVEMBER, flows, **fields)


def cells(content, name, column):
    found = next(one for one in document_of("replication", content).tables() if one.name == name)
    place = [one.name for one in found.columns].index(column)
    return [row[place] for row in found.rows]


def test_the_whole_document():
    now = recorded(
        flow(summary=lag(), total_records=10**9, total_bytes=10**12, task_crashes=(after(days=6),)),
        flow("clicks", lag(5_000)),
        flow("new flow"),
        topics=(
            TopicLag("orders to west", "orders", "/p/?topic=orders", 9, 70, 4_000, 600),
            TopicLag("orders to west", STRANGE, "/p/?topic=x", 9, 7, 400, None),
        ),
        runs=(
            run("STOPPED", start=after(days=-2), end=after(days=-1)),
            run(start=after(hours=1), end=after(hours=2), error="Out of memory.\nTraceback"),
            run("RUNNING", start=after(hours=3), person="ada"),
        ),
        steering=(
            steered(after(hours=4), {"paused": []}, {"paused": ["orders", STRANGE]}),
            steered(
                after(hours=5),
                {"paused": ["orders", STRANGE]},
                {"paused": [STRANGE]},
                "flow.resume",
            ),
            steered(after(hours=6), {}, {"max_bytes_per_s": 1 << 20}, "flow.control"),
        ),
        topic_events=(
            TopicEvent(after(days=1), "clicks", "clicks.v2", "Added", "First lag sample.", "/d/"),
        ),
        drifts=(
            Drift(
                "clicks",
                Severity.WARNING,
                "Warning",
                "Settings differ",
                "clicks",
                "retention.ms is 1 on east, 2 on west.",
                after(days=2),
                None,
                "/replication/2/findings/",
            ),
        ),
        samples_from=after(hours=7),
        runs_from=after(days=-7),
        tasks_from=after(days=6),
        objectives=objectives_of("orders to west", NOVEMBER),
        audits=audits_of("orders to west"),
    )
    before = replace(recorded(flow(summary=lag(30_000))), period=NOVEMBER.before())
    check_golden("replication", build(now, before), NOVEMBER.before(), NOVEMBER)


def test_a_run_after_a_crash_is_a_restart_and_says_so():
    told = run_events(
        recorded(
            flow(),
            runs=(
                run(start=after(hours=1), end=after(hours=2), error="\nOut of memory.\nTraceback"),
                run("RUNNING", start=after(hours=3)),
            ),
        )
    )
    assert [(one.word, one.reason, one.is_bad) for one in told] == [
        ("Started", "", False),
        ("Crashed", "Out of memory.", True),
        ("Restarted", "The run before crashed.", False),
    ]


def test_a_crash_before_the_period_makes_the_first_start_in_it_a_restart():
    runs = (run(start=after(days=-1), end=after(hours=-1)), run("RUNNING", start=after(hours=1)))
    assert [one.word for one in run_events(recorded(flow(), runs=runs))] == ["Restarted"]


def test_a_crash_without_a_reason_says_that_none_is_recorded():
    told = run_events(recorded(flow(), runs=(run(start=after(hours=1), end=after(hours=2)),)))
    assert told[-1].reason == "Not recorded."


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, Severity.HEALTHY),
        ({"runs": (run(start=after(hours=1), end=after(hours=2)),)}, Severity.CRITICAL),
        (
            {
                "runs": (
                    run(start=after(hours=1), end=after(hours=2)),
                    run("RUNNING", start=after(hours=3)),
                )
            },
            Severity.WARNING,
        ),
        ({"audits": audits_of("orders to west")}, Severity.CRITICAL),
        ({"steering": (steered(after(hours=1), {}, {"paused": ["orders"]}),)}, Severity.WARNING),
    ],
    ids=[
        "nothing happened",
        "crashed and not running",
        "crashed and restarted",
        "copy differs",
        "paused at the end",
    ],
)
def test_how_bad_it_was(changes, level):
    assert build(recorded(flow(summary=lag()), **changes), None).verdicts[0].level is level


def test_without_samples_and_runs_the_verdict_is_unknown():
    content = build(recorded(flow()), None)
    assert content.verdicts[0].word == "Unknown"
    empty = build(recorded(), None)
    assert {one.start for one in empty.sections} == {None}


def test_a_flow_of_which_no_lag_was_recorded_is_not_healthy():
    measured = flow("measured", lag())
    content = build(recorded(measured, flow("never measured")), None)
    assert (content.verdicts[0].level, content.verdicts[0].word) == (Severity.UNKNOWN, "Unknown")
    assert "No lag was recorded of never measured." in content.verdicts[0].sentence


def test_a_pause_lasts_from_the_person_who_paused_to_the_one_who_resumed():
    found = pauses(
        recorded(
            flow(),
            steering=(
                steered(after(days=-1), {}, {"paused": ["orders"]}),
                steered(after(days=1), {"paused": ["orders"]}, {}, "flow.resume", "bob"),
                steered(after(days=2), {}, {"paused": ["orders"]}, "flow.control", "eve"),
            ),
        )
    )
    assert [(one.start, one.until, one.by, one.resumed_by) for one in found] == [
        (after(days=-1), after(days=1), "ada", "bob"),
        (after(days=2), None, "eve", ""),
    ]


def test_of_a_resumed_topic_a_partition_may_stay_paused():
    steps = (
        steered(after(days=1), {}, {"paused": ["orders"]}),
        steered(after(days=2), {"paused": ["orders"]}, {"paused": ["orders:1"]}, "flow.resume"),
    )
    found = pauses(recorded(flow(), steering=steps))
    assert [(one.name, one.until) for one in found] == [
        ("orders", after(days=2)),
        ("orders:1", None),
    ]


@pytest.mark.parametrize(
    ("before", "after_", "action", "words"),
    [
        ({}, {"paused": ["b", "a"]}, "flow.pause", "Paused: a, b."),
        ({"paused": ["a"]}, {"paused": []}, "flow.resume", "Resumed: a."),
        ({}, {"max_bytes_per_s": 1024}, "flow.control", "Limit: 1\N{NO-BREAK SPACE}KiB/s."),
        ({"max_bytes_per_s": 1}, {}, "flow.control", "Limit removed."),
        ({"tasks": 1}, {"tasks": 2}, "flow.change", "Settings changed: tasks."),
        ({}, {"names": ["orders:1"]}, "flow.restart_parts", "Partitions restarted: orders:1."),
        ({}, {}, "flow.stop", "Stopped."),
    ],
)
def test_an_entry_of_the_audit_trail_in_words(before, after_, action, words):
    assert what_was_done(steered(START, before, after_, action)) == words


def test_a_section_says_since_when_its_samples_are_kept():
    content = build(recorded(flow(), samples_from=after(hours=7)), None)
    assert content.sections[0].gaps[0].why == (
        "No lag samples. They are kept since 2026-11-16 07:00:00 UTC."
    )


def test_figures_of_hours_say_that_each_hour_counts_with_its_worst():
    by_hour = replace(lag(), hours=144, step_s=None)
    figures = [
        next(iter(build(recorded(flow(summary=one)), before).sections[0].blocks)).figures
        for one, before in ((by_hour, None), (lag(), recorded(flow(summary=by_hour))))
    ]
    assert figures[0][0].definition.endswith(
        "By nearest rank of the hours: 144. "
        "Samples of the whole period are no longer kept: each hour counts with its worst."
    )
    assert figures[1][0].definition.endswith("Before: each hour counts with its worst.")
    assert "each hour" not in figures[0][2].definition


def test_the_period_before_stands_beside_the_99th_percentile():
    before = replace(recorded(flow(summary=lag(30_000))), period=NOVEMBER.before())
    content = build(recorded(flow(summary=lag())), before)
    (p99,) = cells(content, "lag", "p99_ms")
    assert cells(content, "lag", "before") == [pytest.approx(p99 / 2, abs=1)]

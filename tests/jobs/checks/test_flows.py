"""Rules about flows: state, lag, crashes, records at risk."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.checks.flows import OF_STATES, AuditFacts, FlowFacts, evaluate, judged
from jobs.checks.settings import Setting, Settings
from jobs.severity import Severity

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NONE = Settings()


def flow(**values):
    return FlowFacts(**{"pk": 7, "name": "orders", "source": "east", "target": "west"} | values)


def running(**values):
    return flow(state="running", is_measured=True, **values)


def codes(facts, settings=NONE):
    return [(one.code, one.severity) for one in evaluate(facts, settings, NOW)]


@pytest.mark.parametrize("state", OF_STATES)
def test_a_wrong_state_is_a_finding_with_its_reason_hint_and_begin(state):
    (one,) = evaluate(flow(state=state, reason="Why.", hint="Do.", since=NOW), NONE, NOW)
    assert (one.code, one.sentence, one.todo, one.since) == (
        OF_STATES[state].id,
        "Why.",
        "Do.",
        NOW,
    )


@pytest.mark.parametrize("state", ["running", "starting", "stopped", "paused", "watched"])
def test_other_states_are_no_finding(state):
    assert codes(flow(state=state)) == []


def test_failing_partitions_name_offline_partitions_and_brokers():
    facts = flow(state="degraded", partitions_failing=3, offline={"west": 2}, offline_brokers=(3,))
    (one,) = evaluate(facts, NONE, NOW)
    assert one.brokers == (3,)
    assert (one.evidence["offline"], one.evidence["offline_on_west"]) == (True, 2)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        pytest.param({"lag_ms": 60_000}, [], id="at the limit"),
        pytest.param(
            {"lag_ms": 61_000}, [("flow_lag", Severity.WARNING)], id="above the limit of a warning"
        ),
        pytest.param(
            {"lag_ms": 301_000}, [("flow_lag", Severity.CRITICAL)], id="above the critical limit"
        ),
        pytest.param({"lag_ms": 301_000, "is_measured": False}, [], id="not measured now"),
        pytest.param({"lag_ms": 301_000, "is_active": False}, [], id="stopped"),
        pytest.param({"lag_ms": 301_000, "state": "paused"}, [], id="paused"),
        pytest.param({"lag_ms": None}, [], id="not known"),
    ],
)
def test_lag_is_judged_by_time(values, found):
    assert codes(flow(**{"state": "running", "is_measured": True} | values)) == found


def test_lag_that_is_not_known_is_neither_found_nor_over():
    assert "flow_lag" in judged(running(lag_ms=0))
    assert "flow_lag" not in judged(running())
    assert "flow_lag" not in judged(flow(state="stale", lag_ms=5))


def test_a_lag_whose_partitions_are_not_all_known_is_at_least_that():
    (one,) = evaluate(running(lag_ms=61_000, lag_unknown=1), NONE, NOW)
    assert "at least 1\N{NO-BREAK SPACE}m" in one.sentence or "at least 1" in one.sentence


def test_thresholds_of_a_flow_are_its_own():
    settings = Settings.of([Setting("flow_lag", {"warning_s": 10}, flow=7)])
    assert codes(running(lag_ms=11_000), settings) == [("flow_lag", Severity.WARNING)]
    assert codes(running(lag_ms=11_000, pk=8), settings) == []


def test_an_excluded_flow_has_no_finding():
    settings = Settings.of([Setting("flow_failing", flow=7, is_excluded=True)])
    assert codes(flow(state="failing", reason="Why."), settings) == []


@pytest.mark.parametrize(("seconds", "count"), [(299, 0), (300, 1)])
def test_a_flow_that_does_not_come_up_is_found_after_a_while(seconds, count):
    found = evaluate(flow(state="starting", starting_s=seconds), NONE, NOW)
    assert [one.code for one in found] == ["flow_stopped"] * count


@pytest.mark.parametrize(
    ("crashes", "minutes", "count"),
    [
        pytest.param(2, 1, 0, id="too few"),
        pytest.param(3, 15, 1, id="enough"),
        pytest.param(9, 16, 0, id="over"),
    ],
)
def test_crashes_in_a_loop_are_found(crashes, minutes, count):
    facts = running(crashes=crashes, crashed_at=NOW - timedelta(minutes=minutes))
    assert [one.code for one in evaluate(facts, NONE, NOW)] == ["flow_crashed"] * count


def test_records_at_risk_above_the_target_are_found():
    facts = running(rpo_ms=301_000, rpo_records=12)
    (one,) = evaluate(facts, NONE, NOW)
    assert (one.code, one.evidence["rpo_s"], one.evidence["records_at_risk"]) == (
        "flow_rpo",
        301,
        12,
    )


def test_records_at_risk_that_are_not_known_are_not_judged():
    assert "flow_rpo" not in judged(running())


def test_a_silent_run_says_nothing_of_its_partitions():
    assert "flow_partition_failing" not in judged(flow(state="silent"))


def audit(days=1, *, differs=False):
    first = ("orders-0: 4 missing at source offset 100",)
    counts = {"missing": 4} if differs else {}
    at = NOW - timedelta(days=days)
    return AuditFacts(at, differs, "L2", "4 missing.", counts, first if differs else ())


def test_a_copy_that_differs_is_found_with_counts_and_offsets():
    (one,) = evaluate(running(audit=audit(differs=True)), NONE, NOW)
    assert (one.code, one.severity) == ("copy_differs", Severity.CRITICAL)
    assert "orders-0: 4 missing at source offset 100" in one.sentence
    assert one.evidence["missing"] == 4


@pytest.mark.parametrize(
    ("given", "found"),
    [
        pytest.param(None, [], id="never audited"),
        pytest.param(audit(8), [], id="at the limit"),
        pytest.param(audit(9), [("copy_audit_old", Severity.INFO)], id="above the limit"),
    ],
)
def test_a_verdict_gets_old(given, found):
    assert codes(running(audit=given)) == found

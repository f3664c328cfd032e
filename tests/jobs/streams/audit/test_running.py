"""Checks of Kafka Streams applications: conditions, how long they last, what is not known."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.checks.settings import Setting, Settings
from jobs.streams.audit.conditions import Condition
from jobs.streams.audit.routing import MISROUTED
from jobs.streams.audit.running import CHECKS, Application, judge_application

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
WHOLE = Application(1, "east", "shop", "Stable", 0, {})
LONG = {one.id: 7 * 86_400.0 for one in CHECKS}


def judge(one, waited=LONG, passed_s=5.0, settings=()):
    return judge_application(one, Settings.of(settings), waited, passed_s, NOW)


@pytest.mark.parametrize(
    ("values", "code", "said"),
    [
        pytest.param({"state": "Empty"}, "streams_not_running", "has no members", id="no members"),
        pytest.param(
            {"state": "PreparingRebalance"}, "streams_rebalancing", "PreparingRebalance",
            id="rebalancing",
        ),
        pytest.param(
            {"tasks_without_thread": 2}, "streams_tasks_unassigned", "2 tasks that no thread runs",
            id="tasks without a thread",
        ),
    ],
)  # fmt: skip
def test_a_condition_that_lasts_is_a_finding_of_the_application(values, code, said):
    (found,) = judge(replace(WHOLE, **values)).found
    assert (found.code, found.subject) == (code, "shop")
    assert said in found.sentence
    assert found.sentence.startswith("Kafka Streams application shop of east ")


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="healthy"),
        pytest.param({"state": "Gone", "tasks_without_thread": 4}, id="deleted group"),
    ],
)
def test_what_is_no_fault_is_no_finding(values):
    result = judge(replace(WHOLE, **values))
    assert (result.found, result.waited) == ([], {})


def test_a_condition_is_found_after_the_time_that_rounds_watched_it():
    one, waited, found = replace(WHOLE, state="Empty"), {}, []
    for _ in range(8):
        result = judge(one, waited, passed_s=10.0)
        waited = result.waited
        found.append(bool(result.found))
    assert found == [False] * 6 + [True] * 2
    assert result.found[0].since == NOW - timedelta(seconds=70)


def test_a_condition_that_ends_waits_from_the_beginning():
    assert "streams_not_running" not in judge(WHOLE).waited


def test_what_a_rebalance_hides_is_neither_found_nor_over():
    waited = {"streams_tasks_unassigned": 400.0}
    result = judge(replace(WHOLE, state="Assigning", tasks_without_thread=None), waited)
    assert {"streams_tasks_unassigned", MISROUTED.id} <= result.unknown
    assert result.waited["streams_tasks_unassigned"] == 400.0
    assert result.found == []


def test_a_group_pattern_excludes_applications():
    settings = [Setting("streams_not_running", group="sho*", is_excluded=True)]
    assert judge(replace(WHOLE, state="Empty"), settings=settings).found == []


def misrouted(holds=True, value=40.0):
    found = Condition(MISROUTED, "sends keys astray.", {"misrouted_percent": value}, holds, value)
    return replace(WHOLE, conditions={MISROUTED.id: found})


@pytest.mark.parametrize(
    ("most", "is_found"), [pytest.param(0, True, id="above"), pytest.param(50, False, id="below")]
)
def test_a_condition_with_a_number_is_a_finding_above_its_threshold(most, is_found):
    setting = Setting(MISROUTED.id, {"most": most})
    assert [one.code for one in judge(misrouted(), settings=[setting]).found] == [
        MISROUTED.id
    ] * is_found


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(misrouted(holds=None), id="the rule does not know"),
        pytest.param(replace(misrouted(), state="PreparingRebalance"), id="it rebalances"),
        pytest.param(replace(WHOLE, conditions=None), id="the audit is of another time"),
    ],
)
def test_a_condition_that_is_not_known_keeps_what_was_waited(one):
    result = judge(one)
    assert MISROUTED.id in result.unknown
    assert result.waited[MISROUTED.id] == LONG[MISROUTED.id]
    assert MISROUTED.id not in {found.code for found in result.found}


def test_an_application_without_members_has_no_condition_of_its_audit():
    result = judge(replace(misrouted(), state="Empty"))
    assert {one.code for one in result.found} == {"streams_not_running"}


def test_what_is_wrong_with_topics_is_neither_found_nor_over_without_members():
    assert judge(replace(misrouted(), state="Empty")).unknown == {
        "streams_partitions_added",
        "streams_internal_topic_partitions",
        "streams_internal_topic_settings",
    }
    assert judge(replace(misrouted(), state="Gone")).unknown == set()


@pytest.mark.parametrize(
    ("most", "is_known"), [pytest.param(0, True, id="above"), pytest.param(50, False, id="below")]
)
def test_a_number_that_is_a_least_one_is_not_known_below_the_threshold(most, is_known):
    found = Condition(MISROUTED, "sends keys astray.", value=40.0, is_at_least=True)
    one = replace(WHOLE, conditions={MISROUTED.id: found})
    result = judge(one, settings=[Setting(MISROUTED.id, {"most": most})])
    assert (MISROUTED.id not in result.unknown) is is_known

"""How long partitions were leaderless and under min ISR, in short stories and beside a plain twin."""

import random
from collections import defaultdict
from datetime import UTC, datetime

import pytest

from jobs.spark.analyses.metadata import isr_churn, partition_availability
from tests.live.spark.analyses.stories import DAY, HOUR, MINUTE, broker, changed, created, setting

FEBRUARY = 31 * DAY


def figures(row):
    return row["partition_ms"], row["leaderless_ms"], row["under_min_isr_ms"]


def life_of(topic="orders"):
    """Of three replicas, one is left from 10 to 20 min, none of them leads until 30 min."""
    new = created(1, 0, [1, 2, 3], topic=topic)
    alone = changed(new, 10, 10 * MINUTE, isr=[1], cause="broker_fenced")
    lost = changed(alone, 20, 20 * MINUTE, leader=-1, cause="broker_fenced")
    back = changed(lost, 30, 30 * MINUTE, leader=1, isr=[1, 2, 3], cause="broker_unfenced")
    return [new, alone, lost, back]


def under_min_isr(ask, configs, topics, **arguments):
    """Minutes under min ISR by topic, each with the same life of an hour."""
    changes = [row for topic in topics for row in life_of(topic)]
    tables = {"partition_changes": changes, "config_changes": configs}
    found = ask(partition_availability, tables, last_ms=HOUR, **arguments)
    assert {(row["partition_ms"], row["leaderless_ms"]) for row in found["topics"]} == {
        (HOUR, 10 * MINUTE)
    }
    return {row["topic"]: row["under_min_isr_ms"] // MINUTE for row in found["topics"]}


def test_min_isr_is_the_topics_of_that_time_else_what_the_question_says(ask):
    two, other = ("TOPIC", "two"), ("TOPIC", "other setting")
    meanwhile, not_any_more, long_ago = (
        ("TOPIC", "meanwhile"),
        ("TOPIC", "not any more"),
        ("TOPIC", "long ago"),
    )
    configs = [
        setting(2, 0, "2", resource=two),
        setting(2, 0, "9", resource=other, name="retention.ms"),
        setting(11, 15 * MINUTE, "2", resource=meanwhile),
        setting(2, 0, "2", resource=not_any_more),
        setting(11, 12 * MINUTE, None, resource=not_any_more, previous_value="2"),
        setting(0, None, "2", resource=long_ago, not_after_ms=-5, cause="snapshot"),
        setting(2, 0, "2", resource=("BROKER", "1")),
    ]
    expected = {
        "two": 20,
        "other setting": 10,
        "meanwhile": 15,
        "not any more": 12,
        "long ago": 20,
        "never set": 10,
    }
    assert under_min_isr(ask, configs, expected) == expected


def test_the_default_of_brokers_comes_behind_the_topic_and_before_the_question(ask):
    configs = [
        setting(2, 0, "1", resource=("TOPIC", "one")),
        setting(2, 0, "4", resource=("TOPIC", "more than replicas")),
        setting(3, 15 * MINUTE, "1", resource=("BROKER", "")),
    ]
    # The question's default (2) holds until the brokers' (1) is set.
    expected = {"one": 10, "more than replicas": 20, "default": 15}
    assert under_min_isr(ask, configs, expected, default_min_isr=2) == expected


def test_availability_is_the_share_of_the_time_with_a_leader_and_with_enough_in_sync(ask):
    tables = {"partition_changes": life_of()}
    found = ask(partition_availability, tables, last_ms=HOUR, default_min_isr=2)
    assert figures(found.facts) == (HOUR, 10 * MINUTE, 20 * MINUTE)
    assert found.facts["availability"] == pytest.approx(5 / 6)
    assert found.facts["write_availability"] == pytest.approx(2 / 3)


def test_a_window_begins_with_the_state_before_it_and_ends_within_one(ask):
    found = ask(
        partition_availability,
        {"partition_changes": life_of()},
        last_ms=HOUR,
        **{"from": 15 * MINUTE, "to": 25 * MINUTE},
        default_min_isr=2,
    )
    assert figures(found.facts) == (10 * MINUTE, 5 * MINUTE, 10 * MINUTE)


def test_a_window_in_which_nothing_changed_has_the_state_before_it(ask):
    found = ask(
        partition_availability,
        {"partition_changes": life_of()},
        last_ms=HOUR,
        **{"from": 40 * MINUTE},
    )
    assert figures(found.facts) == (20 * MINUTE, 0, 0)


def test_a_state_is_split_at_the_months_of_utc(ask):
    new = created(1, FEBRUARY - HOUR, [1])
    lost = changed(new, 2, FEBRUARY - MINUTE, leader=-1, cause="broker_fenced")
    tables = {"partition_changes": [new, lost]}
    found = ask(
        partition_availability, tables, first_ms=FEBRUARY - HOUR, last_ms=FEBRUARY + 2 * MINUTE
    )
    assert [(row["month"], *figures(row)) for row in found["months"]] == [
        ("1970-01", HOUR, MINUTE, MINUTE),
        ("1970-02", 2 * MINUTE, 2 * MINUTE, 2 * MINUTE),
    ]


def test_the_time_of_a_partition_begins_and_ends_where_the_log_says(ask):
    """Three topics: deleted after 20 min; leaderless by a snapshot only; a clock that goes back meanwhile."""
    short = created(1, 10 * MINUTE, [1], topic="short")
    gone = changed(short, 2, 30 * MINUTE, cause="topic_deleted", is_removed=True)
    first = created(0, None, [1], topic="snapshot", cause="snapshot")
    between = changed(first, 9, None, leader=-1, cause="between")
    brokers = [
        broker(0, 1, None, at_ms=None, not_after_ms=-HOUR),
        broker(9, 1, None, at_ms=None, not_after_ms=45 * MINUTE),
    ]
    new = created(1, 0, [1], topic="clock")
    lost = changed(new, 2, 30 * MINUTE, leader=-1, cause="broker_fenced")
    back = changed(lost, 3, 20 * MINUTE, leader=1, cause="broker_unfenced")
    changes = [short, gone, first, between, new, lost, back]
    found = ask(
        partition_availability,
        {"partition_changes": changes, "broker_changes": brokers},
        last_ms=HOUR,
    )
    assert {row["topic"]: figures(row) for row in found["topics"]} == {
        "short": (20 * MINUTE, 0, 0),
        "snapshot": (HOUR, 15 * MINUTE, 15 * MINUTE),
        "clock": (HOUR, 0, 0),
    }


# A plain twin: every partition minute by minute.


def random_log(seed, minutes):
    """A log of some months in which everything happens on a whole minute."""
    draw = random.Random(seed)
    changes, configs, last = [], [], {}
    for offset in range(400):
        at_ms = offset * minutes // 400 * MINUTE
        where = (draw.choice(["a", "b"]), draw.randrange(3))
        before = last.get(where)
        if before is None:
            row = created(offset, at_ms, [1, 2, 3], topic=where[0], partition=where[1])
        elif draw.random() < 0.05:
            row = changed(before, offset, at_ms, cause="topic_deleted", is_removed=True)
        else:
            isr = draw.sample([1, 2, 3], draw.randint(1, 3))
            leader = draw.choice([*isr, -1])
            row = changed(before, offset, at_ms, isr=isr, leader=leader, cause="isr_changed")
        last[where] = None if row["is_removed"] else row
        if row["is_removed"]:
            row["topic_id"] = before["topic_id"]
        changes.append(row)
        if draw.random() < 0.05:
            resource = draw.choice([("TOPIC", "a"), ("TOPIC", "b"), ("BROKER", "")])
            configs.append(
                setting(offset, at_ms, draw.choice(["1", "2", "3", None]), resource=resource)
            )
    return changes, configs


def twin_of_availability(changes, configs, begin, end, default):
    found = defaultdict(lambda: [0, 0, 0])
    at_change, at_config, states, settings = 0, 0, {}, {}
    for at_ms in range(0, end, MINUTE):
        while at_change < len(changes) and changes[at_change]["timestamp_ms"] <= at_ms:
            row = changes[at_change]
            states[row["topic"], row["partition"]] = row
            at_change += 1
        while at_config < len(configs) and configs[at_config]["timestamp_ms"] <= at_ms:
            row = configs[at_config]
            settings[row["resource_name"]] = row["value"]
            at_config += 1
        month = f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m}"
        for (topic, _), row in states.items():
            if at_ms < begin or row["is_removed"]:
                continue
            least = int(settings.get(topic) or settings.get("") or default)
            is_leaderless = row["leader"] < 0
            sums = found[topic, month]
            sums[0] += MINUTE
            sums[1] += MINUTE * is_leaderless
            sums[2] += MINUTE * (
                is_leaderless or len(row["isr"]) < min(least, len(row["replicas"]))
            )
    return {key: tuple(sums) for key, sums in found.items()}


def test_a_random_log_is_counted_as_minute_by_minute(ask):
    minutes = 40 * 24 * 60
    changes, configs = random_log(1, minutes)
    begin, end = 5 * DAY, (minutes - 700) * MINUTE
    window = {"from": begin, "to": end}
    tables = {"partition_changes": changes, "config_changes": configs}
    found = ask(
        partition_availability, tables, last_ms=minutes * MINUTE, default_min_isr=2, **window
    )
    told = {(row["topic"], row["month"]): figures(row) for row in found["topic_months"]}
    assert told == twin_of_availability(changes, configs, begin, end, 2)


def twin_of_churn(changes, racks, begin, end):
    found = defaultdict(lambda: [0, 0])
    for row in changes:
        before = row.get("previous_isr")
        if before is None or row["is_removed"] or not begin <= row["timestamp_ms"] < end:
            continue
        for one in {*before} ^ {*row["isr"]}:
            rack = [
                r["rack"] for r in racks if r["broker_id"] == one and r["offset"] <= row["offset"]
            ][-1]
            hour = row["timestamp_ms"] // HOUR * HOUR
            found[hour, rack][one in row["isr"]] += 1
    return {key: tuple(counts) for key, counts in found.items()}


def test_churn_of_a_random_log_is_that_of_a_plain_count(ask):
    changes, _ = random_log(3, 20 * 60)
    racks = [broker(-1, one, f"dc-{one % 2}") for one in (1, 2, 3)]
    racks += [
        broker(100 * one, one, "dc-9", previous_is_fenced=True, previous_rack=f"dc-{one % 2}")
        for one in (1, 2, 3)
    ]
    begin, end = 2 * HOUR, 17 * HOUR
    tables = {"partition_changes": changes, "broker_changes": racks}
    found = ask(isr_churn, tables, last_ms=20 * HOUR, by="rack", **{"from": begin, "to": end})
    told = {
        (row["hour_ms"], row["group"]): (row["shrinks"], row["expands"]) for row in found["churn"]
    }
    assert told == twin_of_churn(changes, racks, begin, end)

from dataclasses import replace
from datetime import timedelta

import pytest

from console.replication.flows.models import (
    FlowPartition,
    FlowRound,
    FlowTopic,
    LagSample,
    ReplicationFlow,
)
from console.replication.measurement.collect import collect_flow
from console.runs.launcher import this_host
from console.runs.models import Run
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.limits import POSITIONS
from jobs.spark.contract import PROGRESS, write_json
from tests.console.making import (
    NOW,
    StubFlow,
    make_flow,
    make_partition,
    make_run,
    make_topic,
    partition_row,
    progress,
)

pytestmark = pytest.mark.django_db
ORDERS = TopicPartition("orders", 0)
MINUTE = timedelta(minutes=1)


def source(end=110, start=0, head_ms=5_000):
    return {ORDERS: OffsetRange(start, end, end, head_ms)}


def running(flow, *rows, **more):
    return make_run(flow, progress=progress(*(rows or [partition_row()]), **more), reported_at=NOW)


def measured(flow, door, now=NOW):
    assert collect_flow(flow.pk, lambda: now, door.queries)
    flow.refresh_from_db()
    return FlowPartition.objects.filter(flow=flow).first()


def test_a_running_flow_is_measured_from_its_progress_and_the_source():
    flow = make_flow()
    running(flow)
    row = measured(flow, StubFlow(ranges=source()))
    assert (row.position, row.end_offset, row.lag, row.lag_ms) == (100, 110, 10, 4_000)
    assert (flow.lag, flow.lag_ms, flow.rate_per_s, flow.states) == (
        10,
        4_000,
        10.0,
        {"copying": 1},
    )


def test_the_folder_of_a_run_of_this_host_is_fresher_than_its_row(tmp_path):
    flow = make_flow()
    run = running(flow)
    write_json(tmp_path / PROGRESS, progress(partition_row(position=108)))
    Run.objects.filter(pk=run.pk).update(folder=str(tmp_path))
    flow.refresh_from_db()
    row = measured(flow, StubFlow(ranges=source()))
    assert (row.position, row.lag) == (108, 2)


def test_head_timestamps_are_asked_for_only_where_something_is_missing():
    flow, door = make_flow(), StubFlow(ranges=source(end=100))
    running(flow)
    measured(flow, door)
    assert (flow.lag, flow.lag_ms, door.asked) == (0, 0, ["ranges"])


def test_time_lag_ends_at_the_last_record_and_not_at_a_marker_behind_it():
    flow = make_flow()
    running(flow, partition_row(last_timestamp_ms=2_000))
    row = measured(flow, StubFlow(ranges=source(), heads={ORDERS: 4_500}))
    assert row.lag_ms == 2_500


def test_time_lag_counts_from_the_first_missing_record_while_nothing_was_copied():
    flow = make_flow()
    running(flow, partition_row(last_timestamp_ms=None))
    row = measured(flow, StubFlow(ranges=source(), timestamps={ORDERS: 2_000}))
    assert row.lag_ms == 3_000


def test_a_stopped_flow_is_measured_from_the_positions_on_the_target():
    flow = make_flow()
    make_partition(flow, state="copying", position=90)
    row = measured(flow, StubFlow(positions={ORDERS: 100}, ranges=source()))
    assert (row.state, row.position, row.lag, row.rate_per_s) == ("stopped", 100, 10, None)


def test_positions_of_topics_that_the_flow_does_not_select_are_not_its_own():
    flow = make_flow(topics=["orders"])
    other = TopicPartition("payments", 0)
    measured(flow, StubFlow(positions={ORDERS: 100, other: 5}, ranges=source()))
    assert list(flow.partitions.values_list("topic", flat=True)) == ["orders"]


def test_trailing_markers_of_a_stopped_flow_are_no_lag():
    flow = make_flow()
    door = StubFlow(positions={ORDERS: 109}, ranges=source(), data_ends={ORDERS: 109})
    assert measured(flow, door).lag == 0


def test_a_source_that_is_away_leaves_the_lag_as_it_was_and_says_why():
    flow = make_flow()
    running(flow)
    make_partition(flow, position=90, end_offset=95, lag=5, lag_ms=50)
    row = measured(flow, StubFlow(ranges=None))
    freshness = flow.rounds.get(noun=FlowRound.Noun.SOURCE)
    assert (row.position, row.lag, row.lag_ms) == (100, 5, 50)
    assert (freshness.error_code, freshness.failing_since) == ("unreachable", NOW)
    assert not LagSample.objects.exists()


def test_failing_since_stays_and_ends_with_the_next_success():
    flow = make_flow()
    running(flow)
    measured(flow, StubFlow(ranges=None))
    measured(flow, StubFlow(ranges=None), NOW + MINUTE)
    assert flow.rounds.get(noun="source").failing_since == NOW
    measured(flow, StubFlow(ranges=source()), NOW + 2 * MINUTE)
    assert flow.rounds.get(noun="source").failing_since is None


def test_a_target_that_is_away_does_not_hide_the_source():
    flow = make_flow()
    make_partition(flow, position=100)
    row = measured(flow, StubFlow(positions=None, ranges=source()))
    assert row.lag == 10
    assert flow.rounds.get(noun="positions").error_code == "unreachable"


def test_two_workers_measure_a_flow_once():
    flow = make_flow()
    inner, stub = [], StubFlow(positions={}, ranges={})

    def positions(spec):
        inner.append(collect_flow(flow.pk, lambda: NOW, stub.queries))
        return {}

    assert collect_flow(flow.pk, lambda: NOW, replace(stub.queries, positions=positions))
    assert inner == [False]


def test_unchanged_partitions_are_not_written_again():
    flow = make_flow()
    running(flow)
    measured(flow, StubFlow(ranges=source()))
    row = measured(flow, StubFlow(ranges=source()), NOW + MINUTE)
    assert row.updated_at == NOW


def test_since_stays_while_state_and_reason_stay():
    flow = make_flow()
    run = running(flow, partition_row(state="failed", reason="too large"))
    measured(flow, StubFlow(ranges=source()))
    run.progress = progress(partition_row(state="failed", reason="too large", position=101))
    run.save()
    row = measured(flow, StubFlow(ranges=source()), NOW + MINUTE)
    assert (row.position, row.since, flow.worst_since) == (101, NOW, NOW)


def test_partitions_that_left_the_flow_are_removed():
    flow = make_flow()
    make_partition(flow, "gone")
    running(flow)
    measured(flow, StubFlow(ranges=source()))
    assert list(flow.partitions.values_list("topic", flat=True)) == ["orders"]


def test_a_run_that_has_not_seen_the_clusters_keeps_what_was_known():
    flow = make_flow(is_wanted=True)
    make_partition(flow, position=90)
    make_run(
        flow, progress=progress(surveyed=False, fault="west: no broker answered"), reported_at=NOW
    )
    row = measured(flow, StubFlow(ranges=source()))
    assert (row.state, row.position) == ("retrying", 90)
    assert flow.worst_reason == "west: no broker answered"


@pytest.mark.parametrize("is_newer", [False, True], ids=["in its row", "in its folder"])
def test_the_partitions_of_a_run_that_waits_for_its_engine_are_starting(is_newer, tmp_path):
    flow = make_flow()
    make_partition(flow, position=90)
    make_run(flow)
    waits = {"at_ms": 1, "message": "Waiting for the engine"}
    folder = {"folder": str(tmp_path), "host": this_host()} if is_newer else {}
    write_json(tmp_path / PROGRESS, waits)
    Run.objects.filter(pk=flow.run_id).update(progress=waits, **folder)
    flow.refresh_from_db()
    row = measured(flow, StubFlow(ranges=source()), NOW + MINUTE)
    assert (row.state, row.position) == ("starting", 90)


def test_samples_are_written_for_the_flow_and_each_topic():
    flow = make_flow()
    running(flow, partition_row("orders"), partition_row("clicks"))
    measured(flow, StubFlow(ranges=source()))
    assert sorted(LagSample.objects.values_list("topic", "lag")) == [
        ("", 10),
        ("clicks", None),
        ("orders", 10),
    ]


def test_many_topics_are_sampled_less_often_than_the_flow():
    flow = make_flow()
    running(flow, *(partition_row(f"t{number}") for number in range(100)))
    for second in (0, 10, 60):
        measured(flow, StubFlow(ranges={}), NOW + timedelta(seconds=second))
    assert LagSample.objects.filter(topic="").count() == 3
    assert LagSample.objects.filter(topic="t1").count() == 2


def test_topic_ids_are_learned_and_an_old_one_is_kept():
    flow = make_flow(topic_ids={"clicks": "old"})
    running(flow, partition_row("orders"), partition_row("clicks"))
    measured(flow, StubFlow(ranges=source()))
    assert flow.topic_ids == {"clicks": "old", "orders": "id-orders"}


def test_an_accepted_topic_is_done_when_a_run_that_got_it_copies():
    flow = make_flow(reset_topics=["orders"])
    run = running(flow)
    measured(flow, StubFlow(ranges=source()))
    assert (flow.reset_topics, flow.topic_ids) == (["orders"], {})
    run.arguments = {**run.arguments, "reset_topics": ["orders"]}
    run.save()
    measured(flow, StubFlow(ranges=source()), NOW + MINUTE)
    assert (flow.reset_topics, flow.topic_ids) == ([], {"orders": "id-orders"})


def test_a_topic_that_was_created_again_offers_to_be_accepted():
    flow = make_flow()
    reason = "Topic orders was deleted and created again (id a -> b)."
    running(flow, partition_row(state="failed", reason=reason))
    measured(flow, StubFlow(ranges=source()))
    topic = FlowTopic.objects.get()
    assert (topic.accepts_new, topic.failed_count, topic.reason) == (True, 1, reason)


def test_the_number_of_queries_does_not_grow_with_partitions(django_assert_max_num_queries):
    flow = make_flow()
    running(flow, *(partition_row(partition=number) for number in range(300)))
    with django_assert_max_num_queries(40):
        collect_flow(flow.pk, lambda: NOW, StubFlow(ranges=source()).queries)


def test_settings_that_do_not_hold_are_said_in_the_freshness():
    flow = make_flow()
    ReplicationFlow.objects.update(topics=["("])
    collect_flow(flow.pk, lambda: NOW, StubFlow(ranges=source()).queries)
    assert "regular expression" in flow.rounds.get(noun="source").error


def told(flow, now=NOW, **more):
    """Let the run of a flow report this, and measure."""
    Run.objects.filter(pk=flow.run_id).update(progress=progress(partition_row()) | more)
    flow.refresh_from_db()
    measured(flow, StubFlow(ranges=source()), now)
    return flow


def sync(at, *changes):
    return {"at": at, "changes": list(changes), "notes": [], "failures": []}


GREW = {
    "topic": "east.orders",
    "key": "partitions",
    "from": "1",
    "to": "3",
    "why": "The source has 3.",
}


def test_the_run_says_how_long_it_goes_on_and_what_it_cannot_obey():
    flow = make_flow()
    running(flow)
    told(flow, eta_s=300.5, control={"problem": "windows: no", "restart_token": ""})
    assert (flow.eta_s, flow.control_problem) == (300.5, "windows: no")


def test_without_a_run_nobody_knows_how_long_it_takes():
    flow = make_flow(eta_s=300.5, control_problem="windows: no")
    make_partition(flow, position=90)
    measured(flow, StubFlow(positions={}, ranges=source()))
    assert (flow.eta_s, flow.control_problem) == (None, "")


def test_the_last_changes_of_remote_topics_stay_until_there_are_others():
    flow = make_flow()
    running(flow)
    told(flow, topic_sync=sync("2026-11-21T03:00:00+00:00", GREW))
    told(flow, NOW + MINUTE, topic_sync=sync("2026-11-21T03:01:00+00:00"))
    assert flow.topic_sync == {
        **sync("2026-11-21T03:01:00+00:00", GREW),
        "changed_at": "2026-11-21T03:00:00+00:00",
    }


def test_a_new_run_that_has_not_looked_at_remote_topics_yet_leaves_what_was_known():
    flow = make_flow(topic_sync=sync("2026-11-21T03:00:00+00:00"))
    running(flow)
    assert told(flow, topic_sync=None).topic_sync == sync("2026-11-21T03:00:00+00:00")


def test_paused_partitions_are_counted_by_the_reason():
    flow = make_flow()
    by_hand = partition_row(state="paused", reason="Paused by an operator.")
    running(flow, by_hand, by_hand | {"partition": 1}, partition_row(partition=2))
    measured(flow, StubFlow(ranges=source()))
    assert flow.held_back == {"Paused by an operator.": 2}
    assert flow.states == {"paused": 2, "copying": 1}
    topic = FlowTopic.objects.get()
    assert (topic.state, topic.reason) == ("copying", "2 of 3 partitions: Paused by an operator.")


def test_a_topic_of_which_everything_is_paused_is_paused():
    flow = make_flow()
    running(flow, partition_row(state="paused", reason="Paused by an operator."))
    measured(flow, StubFlow(ranges=source()))
    topic = FlowTopic.objects.get()
    assert (topic.state, topic.reason) == ("paused", "Paused by an operator.")
    assert (flow.worst_reason, flow.worst_since) == ("Paused by an operator.", NOW)


def test_crashes_of_tasks_stay_for_a_day_also_when_the_next_run_knows_nothing_of_them():
    flow = make_flow()
    running(flow)
    at_ms = round(NOW.timestamp() * 1000)
    assert told(flow, crashes=[at_ms - 1, at_ms]).task_crashes == [at_ms - 1, at_ms]
    assert told(flow, NOW + MINUTE, crashes=[]).task_crashes == [at_ms - 1, at_ms]
    assert told(flow, NOW + timedelta(days=1)).task_crashes == []


def test_what_a_run_tells_of_its_checkpoints_stays_until_there_is_something_newer():
    flow = make_flow()
    running(flow)
    assert told(flow, checkpoints={"at_ms": 1}).checkpoint_writing == {"at_ms": 1}
    assert told(flow, NOW + MINUTE, checkpoints=None).checkpoint_writing == {"at_ms": 1}


def test_which_engine_copies_a_flow_is_known_while_its_run_says_so():
    flow = make_flow()
    running(flow)
    engine = {"name": "flows-1", "slots": [0], "cpu_percent": 2.5, "memory_bytes": 4096}
    assert told(flow, engine=engine).hosting == engine
    assert told(flow, NOW + MINUTE).hosting is None


def test_a_partition_that_a_person_paused_says_who_and_when():
    ada = {"by": "ada", "at": NOW.isoformat()}
    flow = make_flow(control={"paused": ["orders"]}, steered_by={"paused": {"orders": ada}})
    running(flow, partition_row(state="paused", reason="Paused by an operator."))
    row = measured(flow, StubFlow(ranges=source()))
    assert row.reason == "Paused by ada, 21 Nov 03:12 UTC."
    assert flow.held_back == {"Paused by ada, 21 Nov 03:12 UTC.": 1}


def test_what_a_run_copied_is_added_to_what_all_runs_copied():
    flow = make_flow(counted={"run": "an older one", "seen": {}, "total": {"records": 500}})
    running(flow, partition_row(records=40, commits=2))
    measured(flow, StubFlow(ranges=source()))
    flow.refresh_from_db()
    assert flow.counted["total"]["records"] == 540
    assert flow.counted["total"]["commits"] == 2


def test_positions_of_partitions_that_do_not_exist_have_no_rows():
    flow = make_flow(is_wanted=False)
    make_topic(flow.source, "orders", partition_count=1)
    written = {TopicPartition("orders", number): 5 for number in range(50_000)}
    measured(flow, StubFlow(positions={ORDERS: 100, **written}, ranges=source()))
    assert [row.partition for row in FlowPartition.objects.filter(flow=flow)] == [0]


def test_more_positions_than_are_kept_are_a_fault_of_the_round():
    flow = make_flow(is_wanted=False)
    written = {TopicPartition(f"orders-{number}", 0): 5 for number in range(POSITIONS + 1)}
    flow.topics = [".*"]
    flow.save()
    measured(flow, StubFlow(positions=written, ranges={}))
    assert not FlowPartition.objects.filter(flow=flow).exists()
    assert "more than 200,000 partitions" in flow.rounds.get(noun="positions").error

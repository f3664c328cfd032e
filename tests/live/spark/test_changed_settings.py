"""A flow whose settings change while it runs, through Spark and between two real clusters."""

from jobs.replication.flow.spec import FlowSpec, HeartbeatsTo
from jobs.spark.contract import DRIVER_STARTED, FIRST_RECORD, SURVEYED, TASKS_STARTED
from tests.live.records import produce
from tests.live.spark.runs import RunningFlow, assert_copied
from tests.live.topics import new_topic
from tests.waiting import eventually

WITHIN_S = 60


def test_a_running_flow_takes_topics_and_checkpoints_over_with_the_same_tasks(east, west, tmp_path):
    first, second = new_topic(east), new_topic(east)
    written = {topic: produce(east, topic, 100) for topic in (first, second)}
    flow = FlowSpec(
        f"changed {first}",
        east.connection,
        west.connection,
        (first,),
        emit_checkpoints_interval_s=0,
        heartbeats=HeartbeatsTo.NONE,
    )
    with RunningFlow(flow, (tmp_path / "run").resolve()) as running:
        running.wait_for_positions({0: 100}, first)
        pids = running.task_pids()
        assert (running.progress["checkpoints"], running.rows(second)) == (None, {})
        running.ask(
            settings={
                "topics": [first, second],
                "emit_checkpoints_interval_s": 1,
                "heartbeats": "target",
            }
        )
        running.wait_for_positions({0: 100}, second, within_s=WITHIN_S)
        eventually(lambda: (running.progress["checkpoints"] or {}).get("at_ms"), WITHIN_S)
        assert running.task_pids() == pids
        assert (running.progress["restarts"], running.progress["control"]["problem"]) == (0, "")
        running.ask(settings={"topics": [second]})
        running.wait_for_states({0: "stopped"}, first)
        produce(east, first, 10)
        written[second] += produce(east, second, 10)
        running.wait_for_positions({0: 110}, second)
        stages = running.progress["stages"]
        running.stop()
    for topic in (first, second):
        assert_copied(written[topic], west, f"east.{topic}")
    assert list(stages) == [DRIVER_STARTED, SURVEYED, TASKS_STARTED, FIRST_RECORD]
    assert sorted(stages.values()) == list(stages.values())

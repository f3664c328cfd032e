"""What other users of the machine find at the ports of a run."""

from tests.live.spark.runs import RunningFlow, flow_to_nobody
from tests.live.spark.standalone_cluster import assert_closed
from tests.waiting import eventually


def test_a_stranger_at_the_ports_of_a_run_has_nothing_deserialised_and_the_run_goes_on(tmp_path):
    with RunningFlow(flow_to_nobody(), (tmp_path / "run").resolve()) as running:
        eventually(lambda: running.progress.get("message"), 120)
        assert_closed(running.pids())
        # It is asked again and again; one of the attempts may have run out of time instead.
        told = "Connection refused: 127.0.0.1:1"
        eventually(lambda: told in (running.progress.get("message") or ""))

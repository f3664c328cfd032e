"""A share of a flow that copies in a thread beside a test, and how many records arrived."""

import threading
from collections.abc import Mapping, Sequence

from jobs.cluster.client import ClusterClient
from jobs.lab.cluster import Cluster
from jobs.replication.copy.contract import PartitionProgress
from jobs.replication.copy.flow_copier import FlowCopier
from jobs.replication.flow.plan import Known
from jobs.replication.flow.preflight import preflight_flow
from jobs.replication.flow.spec import FlowSpec
from tests.live.records import read_all
from tests.waiting import PATIENCE, eventually

WITHIN_S = 60


class Flowing:
    """Copies while the block runs."""

    def __init__(self, flow: FlowSpec) -> None:
        self.flow = flow
        self.rows: dict[int, PartitionProgress] = {}
        self.error: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Flowing":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(WITHIN_S * PATIENCE)
        assert not self._thread.is_alive(), "the copier did not stop"
        if self.error is not None:
            raise self.error

    def wait_for(self, positions: Mapping[int, int]) -> None:
        """Wait until every partition has reached its position."""

        def reached() -> bool:
            there = {p: row.position for p, row in self.rows.items()}
            return all(there.get(p, -1) >= position for p, position in positions.items())

        eventually(lambda: self.error is not None or reached(), WITHIN_S)
        assert self.error is None, self.error

    def _run(self) -> None:
        try:
            with ClusterClient(self.flow.source) as east, ClusterClient(self.flow.target) as west:
                starts = preflight_flow(self.flow, east, west, Known()).plan.starts
            FlowCopier(self.flow).copy(starts, self._stop.is_set, self._report)
        except BaseException as error:  # noqa: BLE001  the test's thread raises it
            self.error = error

    def _report(self, rows: Sequence[PartitionProgress]) -> None:
        self.rows |= {row.partition: row for row in rows}


def records_on(cluster: Cluster, topic: str) -> int:
    """How many records a topic has that a reader sees; 0 while it does not exist."""
    try:
        return len(read_all(cluster, topic))
    except (AssertionError, KeyError):
        return 0

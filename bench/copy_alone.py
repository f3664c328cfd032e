"""Copy what a flow file names in this one process, without Spark, and print what it cost as JSON."""

import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from jobs.cluster.client import ClusterClient
from jobs.replication.copy.contract import PartitionProgress
from jobs.replication.copy.flow_copier import FlowCopier
from jobs.replication.flow.file import read_flow_file
from jobs.replication.flow.plan import Known
from jobs.replication.flow.preflight import preflight_flow


def main(flow_file: str) -> None:
    flow = read_flow_file(Path(flow_file))
    with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
        survey = preflight_flow(flow, source, target, Known())
    ends = survey.ends()
    left = {where for where, end in ends.items() if end}
    records: dict[tuple[str, int], int] = {}

    def report(rows: Sequence[PartitionProgress]) -> None:
        for row in rows:
            where = (row.topic, row.partition)
            records[where] = row.records
            if row.position >= ends.get(where, 0):
                left.discard(where)

    used = cpu_s()
    began = time.monotonic()
    FlowCopier(flow, 0, lambda: not left, report).copy(survey.plan.starts)
    took = time.monotonic() - began
    answer = {
        "records": sum(records.values()),
        "seconds": took,
        "cpu_s": cpu_s() - used,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(answer))


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1])

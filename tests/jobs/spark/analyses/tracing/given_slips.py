"""Slips without a cluster: records that a test makes, through the task's part and the driver's part."""

from dataclasses import dataclass, field, replace

from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.running import Reduced
from jobs.spark.analyses.tracing.following.events import EventsRead, read_events
from jobs.spark.analyses.tracing.following.rows import SlipRows
from jobs.tracing.extractors.extractor import Extractor
from tests.jobs.spark.analyses.records.given_records import reader_of, record

NOW = 10_000_000
STEPS = ["check", "price", "ship"]
FIELDS = {
    "id": "header:id",
    "type": "header:type",
    "done": "header:done as csv",
    "error": "header:error",
    "original_topic": "header:original",
}
MAPPING = {
    "name": "orders",
    "fields": FIELDS,
    "steps": STEPS,
    "topic_steps": {step: step for step in STEPS},
    "end_topics": ["end"],
    "stuck_after_s": 60,
}
ARGUMENTS = {"ids": "shown", "slip": None}


@dataclass
class Event:
    """A record of a topic; headers by role, those of None left out."""

    topic: str
    offset: int
    at_ms: int
    id: str | None = None
    partition: int = 0
    more: dict = field(default_factory=dict)
    value: bytes = b"v"

    def record(self):
        headers = {"id": self.id, **self.more}
        found = [(k.encode(), v.encode()) for k, v in headers.items() if v is not None]
        return record(self.offset, b"k", self.value, self.at_ms, headers=found)


def works_of(events, size=1 << 20):
    """Return the events of each work: by partition, pieces of so many."""
    kept = {}
    for one in sorted(events, key=lambda one: (one.topic, one.partition, one.offset)):
        kept.setdefault((one.topic, one.partition), []).append(one)
    return [part[at : at + size] for part in kept.values() for at in range(0, len(part), size)]


def rows_of(
    events, mapping=None, *, size=1 << 20, fault="", arguments=None, begun=(), unread=0, **extra
):
    """Return the rows of all tables.

    `extra`: what was known at planning. `begun`: topics and times of empty partitions whose earlier records
    were not read. `unread`: offsets behind each range. `fault`: why reading ended early.
    """
    extractor = Extractor.from_mapping({**MAPPING, **(mapping or {})})
    known = {
        "at_ms": NOW,
        "is_held": False,
        "is_compacted": False,
        "from": None,
        "to": None,
        "topics": sorted({*STEPS, "end", *(one.topic for one in events)}),
        "committed": {},
        "fault": "",
        "faults": [],
        **extra,
    }
    read = EventsRead(extractor)

    def add(reader, **more):
        span = replace(reader.span, log_end=reader.span.log_end + unread)
        work = Work((span,), {**known, **more})
        tables = read_events([reader], work, {"extractor": extractor.to_mapping()})
        read.add(Reduced(work, tables, (replace(reader.outcome, fault=fault),)))

    for part in works_of(events, size):
        topic, partition = part[0].topic, part[0].partition
        records = [one.record() for one in part]
        reader = reader_of(records, topic=topic, partition=partition)
        reader.span = replace(reader.span, start=0, log_start=0)
        add(reader)
    for topic, from_ms in [*begun, *([] if events else [("check", 0)])]:
        reader = reader_of(topic=topic, partition=9)
        reader.span = replace(reader.span, start=1, end=1, log_start=0, log_end=1)
        add(reader, **{"from": from_ms})
    found = SlipRows(read, extractor)
    found.fill({**ARGUMENTS, **(arguments or {})}, 60_000)
    return found

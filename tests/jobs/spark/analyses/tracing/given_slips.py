"""Slips without a cluster: records that a test makes, through the task's part and the driver's part."""

from dataclasses import dataclass, field

from jobs.spark.analyses.records.chunks import Outcome
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.running import Reduced
from jobs.spark.analyses.tracing.slip_events import EventsRead, read_events
from jobs.spark.analyses.tracing.slip_plan import Planned
from jobs.spark.analyses.tracing.slip_rows import SlipRows
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

    def record(self):
        headers = {"id": self.id, **self.more}
        found = [(k.encode(), v.encode()) for k, v in headers.items() if v is not None]
        return record(self.offset, b"k", b"v", self.at_ms, headers=found)


def works_of(events, size=1 << 20):
    """Return the events of each work: by partition, pieces of so many."""
    kept = {}
    for one in sorted(events, key=lambda one: (one.topic, one.partition, one.offset)):
        kept.setdefault((one.topic, one.partition), []).append(one)
    return [part[at : at + size] for part in kept.values() for at in range(0, len(part), size)]


def rows_of(events, mapping=None, *, size=1 << 20, is_whole=True, arguments=None, **extra):
    """Return the rows of all tables; `extra`: what was known at planning."""
    extractor = Extractor.from_mapping({**MAPPING, **(mapping or {})})
    read, reduced = EventsRead(extractor), []
    for part in works_of(events, size):
        reader = reader_of(
            [e.record() for e in part], topic=part[0].topic, partition=part[0].partition
        )
        tables = read_events([reader], Work((reader.span,)), {"extractor": extractor.to_mapping()})
        reduced.append(Reduced(Work((reader.span,)), tables, (Outcome(0),)))
        read.add(reduced[-1])
    known = {
        "planned_ms": NOW,
        "is_to_end": True,
        "compacted": [],
        "topics": sorted({*STEPS, "end", *(one.topic for one in events)}),
        "fault": "",
        "faults": {},
        "committed": {},
        "groups": extractor.groups,
        "begun": [],
    }
    found = SlipRows(read, Planned(**{**known, **extra}), extractor)
    found.fill({**ARGUMENTS, **(arguments or {})}, 60_000, is_whole=is_whole)
    return found

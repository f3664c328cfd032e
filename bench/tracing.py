"""Slips: records with an id and steps in headers, and as JSON, read by the kind `slips` in the warm engine.

Filled and timed as `records` does it. Each batch has its own ids, which come again with other steps in later
batches: a slip has as many records as the topic has of its template.
"""

import os
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engines import clusters
from metadata import Say
from records import FIRST_MS, PARTITIONS, UNBOUND, Made, ask, fill

from jobs.wire.batches.records import PlacedRecord

STEPS = ("validate", "price", "pay", "pack", "ship")
HEADERS = {
    "id": "header:slip-id",
    "type": "header:slip-type",
    "steps": "header:slip as csv",
    "done": "header:slip-done as csv",
}
JSON = {
    "id": "value:/trackingNumber",
    "done": "value:/activityLogs/*/name",
    "remaining": "value:/itinerary/*/name",
}


@dataclass(frozen=True)
class InHeaders(Made):
    """Slips of which headers say everything."""

    def _record(self, number: int, draw: random.Random) -> PlacedRecord:
        done = b",".join(one.encode() for one in STEPS[: draw.randrange(len(STEPS))])
        headers = [
            (b"slip-id", b"%032x" % draw.getrandbits(128)),
            (b"slip-type", b"standard"),
            (b"slip", ",".join(STEPS).encode()),
            (b"slip-done", done),
        ]
        return PlacedRecord(number, FIRST_MS, b"%d" % number, b"x" * self.size, headers)


@dataclass(frozen=True)
class InJson(Made):
    """Slips as MassTransit Courier writes them, shortened."""

    def _record(self, number: int, draw: random.Random) -> PlacedRecord:
        at = draw.randrange(len(STEPS))
        done = ",".join(f'{{"name":"{one}","timestamp":1}}' for one in STEPS[:at])
        left = ",".join(f'{{"name":"{one}"}}' for one in STEPS[at:])
        text = (
            f'{{"trackingNumber":"{draw.getrandbits(128):032x}","activityLogs":[{done}],'
            f'"itinerary":[{left}],"pad":"{"y" * self.size}"}}'
        )
        return PlacedRecord(number, FIRST_MS, b"%d" % number, text.encode())


MADE = {
    "slips, headers": (InHeaders("in-headers", 4_000_000, 200, 1_000), HEADERS, 500_000),
    "slips, JSON": (InJson("in-json", 1_000_000, 200, 1_000), JSON, 150_000),
}


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure both; returns JSON values."""
    os.environ.update(UNBOUND)
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder, clusters(folder) as lab:
        for name, (whole, fields, wanted) in MADE.items():
            records = whole.records // (10 if quick else 1)
            made = type(whole)(whole.topic, records, whole.size, whole.per_batch)
            fill(lab.cluster("source"), made)
            extractor = {"extractor": {"name": made.topic, "fields": fields}}
            arguments = {"cluster": "source", "topics": made.topic, "extractor": made.topic}
            arguments["most_records"] = str(made.whole)
            answer = ask(lab, Path(folder) / made.topic, "slips", made, arguments, extractor)
            found[name] = {"wanted_per_s": wanted, **answer}
            say(f"{name}: {found[name]}")
    return {"partitions": PARTITIONS, **found}

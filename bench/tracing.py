"""Slips: records with an id and steps in headers, and as JSON, read by the kind `slips` in the warm engine.

Filled and timed as `records` does it. Each slip has five records, one for each step, one after the other in
another partition.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engines import clusters
from metadata import Say
from records import FIRST_MS, PARTITIONS, UNBOUND, Made, ask, fill

from jobs.wire.batches.records import PlacedRecord, encode_batch

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

    def templates(self) -> list[bytes]:
        """Return each batch of the topic: the records of as many slips at one step."""
        return [
            encode_batch(
                [self.at_step(n, *divmod(batch, len(STEPS))) for n in range(self.per_batch)],
                codec=self.codec,
            )
            for batch in range(self.batches * PARTITIONS)
        ]

    def at_step(self, number: int, group: int, step: int) -> PlacedRecord:
        """Return the record of a slip that waits for a step."""
        headers = [
            (b"slip-id", b"%032x" % (group * self.per_batch + number)),
            (b"slip-type", b"standard"),
            (b"slip", ",".join(STEPS).encode()),
            (b"slip-done", ",".join(STEPS[:step]).encode()),
        ]
        return PlacedRecord(number, FIRST_MS, b"%d" % number, b"x" * self.size, headers)


@dataclass(frozen=True)
class InJson(InHeaders):
    """Slips as MassTransit Courier writes them, shortened."""

    def at_step(self, number: int, group: int, step: int) -> PlacedRecord:
        """Return the record of a slip that waits for a step."""
        done = ",".join(f'{{"name":"{one}","timestamp":1}}' for one in STEPS[:step])
        left = ",".join(f'{{"name":"{one}"}}' for one in STEPS[step:])
        text = (
            f'{{"trackingNumber":"{group * self.per_batch + number:032x}","activityLogs":[{done}],'
            f'"itinerary":[{left}],"pad":"{"y" * self.size}"}}'
        )
        return PlacedRecord(number, FIRST_MS, b"%d" % number, text.encode())


MADE = {
    "slips, headers": (InHeaders("in-headers", 2_000_000, 200, 1_000), HEADERS, 500_000),
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

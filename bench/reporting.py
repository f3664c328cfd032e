"""What every benchmark and campaign leaves: a line while it runs, and one JSON file when it ends."""

import json
from datetime import UTC, datetime
from pathlib import Path

import machine

RESULTS = Path(__file__).parent / "results"


def write(name: str, result: dict[str, object], *, quick: bool) -> None:
    """Put a result with everything that is needed to judge it into a file of its own."""
    now = datetime.now(UTC)
    document = {
        "benchmark": name,
        "at": now.isoformat(timespec="seconds"),
        "is_quick": quick,
        "machine": machine.describe(),
        **result,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{now:%Y%m%dT%H%M%SZ}.json"
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    say(f"{name}: written to {path}")


def say(text: str) -> None:
    print(f"bench: {text}", flush=True)

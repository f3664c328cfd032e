"""The folder of an engine: its inbox, and the lock under which runs are handed over and engines end.

An engine is beside the folders of its runs (`engine-ID` of analyses, `flows-ID` of flows). What is in
`inbox` waits: a file per run, named in the order of their arrival, with the path of the run's folder in it.
An engine of flows keeps the file in `taken` until the run ends. `closed` says that nothing more is taken,
`successor` names the engine that gets what this one has. The lock is one for all engines of a folder of
runs: who holds it may start one, hand over, or close.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.files import for_this_user_only
from jobs.spark import contract, submit

# The name of the engine's folder in the `keeper.json` of a run that it has.
ENGINE_KEY = "engine"
# In the folder of a run that an engine of flows is to end at once.
DROP = "drop"
_INBOX, _TAKEN = "inbox", "taken"
_CLOSED = "closed"
_SUCCESSOR = "successor"
_LOCK = "engine.lock"


@contextmanager
def locked(runs_dir: Path) -> Iterator[None]:
    """Hold the lock of a folder of runs; it is free again when its holder ends, however."""
    with open(runs_dir / _LOCK, "ab", opener=for_this_user_only) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def list_engines(runs_dir: Path, kind: str) -> list[Path]:
    """Return the folders of engines of a kind, of living and ended ones, newest first."""
    found = [one for one in runs_dir.glob(f"{kind}-*") if (one / contract.SPEC).exists()]
    return sorted(found, key=lambda one: (one / contract.SPEC).stat().st_mtime_ns, reverse=True)


def is_open(engine: Path) -> bool:
    """Return whether an engine lives and takes runs."""
    ending = (_CLOSED, _SUCCESSOR, contract.STOP, contract.RESULT)
    return not any((engine / name).exists() for name in ending) and submit.is_alive(engine)


def engine_of(run_dir: Path) -> Path | None:
    """Return the folder of the engine that a run was handed over to; None for a run of its own."""
    keeper = contract.read_json(run_dir / contract.KEEPER) or {}
    name = keeper.get(ENGINE_KEY)
    return run_dir.parent / str(name) if name else None


def hand_over(engine: Path, run_dir: Path) -> int:
    """Put a run into the inbox, under the lock; return the pid of the engine's supervisor."""
    keeper = contract.read_json(engine / contract.KEEPER) or {}
    inbox = engine / _INBOX
    inbox.mkdir(mode=0o700, exist_ok=True)
    name = f"{time.time_ns():020}-{run_dir.name}"
    partial = engine / f"{name}.{os.getpid()}.partial"
    partial.write_text(str(run_dir), encoding="utf-8")
    partial.rename(inbox / name)
    contract.write_json(run_dir / contract.KEEPER, {**keeper, ENGINE_KEY: engine.name})
    return int(keeper["pid"])


def waiting(engine: Path) -> list[tuple[Path, Path]]:
    """Return what waits: the files of the inbox with the folders of their runs, in the order of arrival."""
    inbox = engine / _INBOX
    if not inbox.is_dir():
        return []
    return [(one, Path(one.read_text(encoding="utf-8"))) for one in sorted(inbox.iterdir())]


def take(file: Path) -> Path:
    """Take a run out of the inbox; return its file, which says until it is removed that the engine has it."""
    taken = file.parent.parent / _TAKEN
    taken.mkdir(mode=0o700, exist_ok=True)
    return file.rename(taken / file.name)


def count(engine: Path) -> int:
    """Return how many runs an engine has, with those that wait and those that it gets by a roll."""
    found = sum(len(list((engine / name).glob("*"))) for name in (_INBOX, _TAKEN))
    before = (one.parent for one in engine.parent.glob(f"*/{_SUCCESSOR}"))
    return found + sum(
        count(one) for one in before if successor_of(one) == engine and submit.is_alive(one)
    )


def name_successor(engine: Path, successor: Path | None) -> None:
    """Say, under the lock, which engine gets what this one has; None: this one keeps it."""
    if successor is None:
        (engine / _SUCCESSOR).unlink(missing_ok=True)
    else:
        (engine / _SUCCESSOR).write_text(successor.name, encoding="utf-8")


def successor_of(engine: Path) -> Path | None:
    """Return the folder of the engine that gets what this one has."""
    try:
        return engine.parent / (engine / _SUCCESSOR).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def close_if_empty(engine: Path) -> bool:
    """Take nothing more, unless something waits; then return False."""
    with locked(engine.parent):
        if waiting(engine):
            return False
        (engine / _CLOSED).touch()
        return True


def close(engine: Path) -> list[Path]:
    """Take nothing more; return the folders of the runs that still wait."""
    with locked(engine.parent):
        (engine / _CLOSED).touch()
        left = waiting(engine)
        for file, _ in left:
            file.unlink()
        return [run_dir for _, run_dir in left]


def tell(run_dir: Path, message: str) -> None:
    """Write the progress of a run that has not begun, of the form of those that have."""
    progress = {"message": message, "done": None, "total": None, "unit": "", "eta_s": None}
    contract.write_progress(run_dir, {"at_ms": time.time_ns() // 1_000_000, **progress})

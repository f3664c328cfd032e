"""Liveness of the programs of `manage.py up`, and their restarts after a stall.

A program's sign is the time of a file in the home, on the machine's monotonic clock: that clock is never set,
and pauses while the machine is suspended. The supervisor creates the file; without it nothing is signed.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

RESTARTS = "restarts.jsonl"
_KEPT_RESTARTS = 50
# Longer between two looks of the supervisor than this, and the machine was suspended, or the supervisor
# starved: then the others were, too.
LONGEST_LOOK_S = 2.0
# For importing everything, on a machine that has no time.
START_WITHIN_S = 300.0
# A program that another one feeds gets something to do several times in so many seconds.
FED_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class InactiveTime:
    """For how many seconds a program got nothing done; `sign` is its last one, 0 before the first."""

    sign: float = 0.0
    seconds: float = 0.0

    def after(self, sign: float, passed_s: float) -> InactiveTime:
        """Return the silence when so many seconds have passed and this is the last sign."""
        if sign != self.sign:
            return InactiveTime(sign)
        return InactiveTime(sign, self.seconds + min(passed_s, LONGEST_LOOK_S))

    @property
    def feeds(self) -> bool:
        """Whether it just gave others something to do."""
        return self.sign > 0 and self.seconds < FED_WITHIN_S

    def is_too_long(self, quiet_s: float, start_within_s: float = START_WITHIN_S) -> bool:
        """Return whether it ought to have got something done by now."""
        return self.seconds >= (quiet_s if self.sign > 0 else max(quiet_s, start_within_s))


@dataclass(frozen=True, slots=True)
class Restart:
    """A program that was restarted because it had got nothing done for `silent_s` seconds, or had ended.

    `crash` is the sentence that says how it ended, empty where it was silent.
    """

    program: str
    at: datetime
    silent_s: int
    log: str
    crash: str = ""


_own: Path | None = None
_part = threading.local()


def begin(folder: Path, program: str) -> None:
    """Say which program this process is, and that it has come so far."""
    global _own  # noqa: PLW0603  a process is one program
    _own = folder / program
    sign()


def begin_part(folder: Path, program: str) -> None:
    """Say which program this thread is, where a process is several."""
    _part.own = folder / program
    sign()


def sign() -> None:
    """Note that this program got something done; costs microseconds, and nothing goes wrong with it."""
    now = time.monotonic_ns()
    own: Path | None = getattr(_part, "own", _own)
    if own is not None:
        with suppress(OSError):
            os.utime(own, ns=(now, now))


@dataclass(frozen=True, slots=True)
class LivenessSigns:
    """What the supervisor sees of its programs, and how often it looks."""

    folder: Path
    every_s: float = 1.0

    def expect(self, program: str) -> None:
        """Make the file of a program that is about to start, without a sign."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / program).touch(mode=0o600)
            os.utime(self.folder / program, ns=(0, 0))

    def last(self, program: str) -> float | None:
        """Return when a program last got something done, 0 for never; None: it cannot tell."""
        try:
            return (self.folder / program).stat().st_mtime_ns / 1e9
        except OSError:
            return None

    def note_restart(self, restart: Restart) -> None:
        """Keep a restart for the console to show; the oldest ones are forgotten."""
        path = self.folder / RESTARTS
        row = json.dumps({**asdict(restart), "at": restart.at.isoformat()})
        with suppress(OSError):
            kept = path.read_text("utf-8").splitlines()[-_KEPT_RESTARTS:] if path.exists() else []
            partial = path.with_suffix(".partial")
            partial.write_text("".join(f"{line}\n" for line in (*kept, row)), "utf-8")
            partial.replace(path)


def restarts_since(folder: Path, since: datetime) -> list[Restart]:
    """Return the restarts since then, oldest first; what cannot be read is left out."""
    found = []
    with suppress(OSError, ValueError, KeyError, TypeError):
        for line in (folder / RESTARTS).read_text("utf-8").splitlines():
            row = json.loads(line)
            found.append(Restart(**{**row, "at": datetime.fromisoformat(row["at"])}))
    return [one for one in found if one.at >= since]

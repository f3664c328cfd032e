"""What the end of a program means that should have run on: a signal, and where the program was then. Pure."""

from __future__ import annotations

import re
import signal
from itertools import takewhile
from pathlib import Path

# Signals after which `faulthandler` has written what each thread was doing.
_TOLD = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
_FATAL = re.compile(r"^Fatal Python error: (?P<what>.+)$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(?P<file>.+)", line \d+(?: in (?P<function>.+))?$')
_CURRENT = "Current thread"
_LIBRARY = re.compile(r"^.*/(?:site-packages|python3\.\d+)/")
_ROOT = Path(__file__).parents[3]


def why_ended(code: int, log_end: str) -> str:
    """Return the sentence for the exit code of a program and the end of its log."""
    if code >= 0:
        return f"It ended with exit code {code}."
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    told = list(_FATAL.finditer(log_end))
    if number in _TOLD and told:
        return _crash(told[-1]["what"], log_end[told[-1].end() :])
    if number == signal.SIGKILL:
        return f"It was ended by {name}, as the kernel does when memory runs out."
    return f"It was ended by {name}."


def _crash(what: str, threads: str) -> str:
    _, _, current = threads.partition(_CURRENT)
    lines = current.splitlines()[1:]
    frames = [one for one in map(_FRAME.match, takewhile(_FRAME.match, lines)) if one]
    where = f" in {_place(frames[0])}" if frames else ""
    own = [one for one in frames[1:] if _is_own(one["file"])]
    caller = (
        f", called from {_file(own[0]['file'])}" if own and not _is_own(frames[0]["file"]) else ""
    )
    return f"It crashed ({what.strip()}){where}{caller}."


def _place(frame: re.Match[str]) -> str:
    return f"{frame['function'] or '?'} ({_file(frame['file'])})"


def _file(path: str) -> str:
    return _LIBRARY.sub("", path).removeprefix(f"{_ROOT}/")


def _is_own(path: str) -> bool:
    return path.startswith(str(_ROOT)) and not _LIBRARY.match(path)

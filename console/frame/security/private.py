"""The home holds the database, keys and logs: it is made for its user only, and it is said when it is not."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

# The umask of everything that `manage.py up` starts.
FOR_THIS_USER_ONLY = 0o077
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# What a lab, an earlier version or a person may have left open.
_KEPT = ("crosslog.sqlite3", "secret-key", "report-key.pem")


def readable_by_others(home: Path) -> Iterator[str]:
    """Yield a sentence when other users of this machine can get at what is in the home.

    A home that only its user may enter keeps what is in it, whatever the modes of files are.
    """
    mode = stat.S_IMODE(home.stat().st_mode)
    if not mode & _OF_OTHERS:
        return
    files = [home / name for name in _KEPT if (home / name).exists()]
    open_files = [file for file in files if file.stat().st_mode & _OF_OTHERS]
    also = f", and so can {', '.join(file.name for file in open_files)}" if open_files else ""
    command = " ".join(["chmod go=", str(home), *(str(file) for file in open_files)])
    yield f"{home} can be read by other users ({mode:04o}){also}. Close it: {command}"

"""Where crosslog keeps what was fetched or made once and can be fetched or made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the user's cache folder of crosslog (`CROSSLOG_CACHE`, else the XDG cache folder)."""
    chosen = os.environ.get("CROSSLOG_CACHE")
    if chosen:
        return Path(chosen)
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "crosslog"

"""Where numba keeps the compiled loops of packed code: in one place, wherever the archive lies.

Executors get `jobs.zip` into a new folder for each run. By its path, which numba goes by, it is other code
each time, and every first task would compile for a quarter of a minute. numba compares the source's hash.
"""

from __future__ import annotations

from pathlib import Path

from numba.core.caching import ZipCacheLocator

from jobs.files import cache_folder


class PackedCodeLocator(ZipCacheLocator):
    """Numba's own locator for archives, with a folder of ours."""

    def get_cache_path(self) -> str:
        """Return the folder, one for each module."""
        path = Path(self._internal_path)
        return str(cache_folder() / "numba" / "packed" / "_".join(path.with_suffix("").parts))

"""What several files of live tests share, labs and consoles; see `conftest.py` for their end."""

from collections.abc import Callable
from pathlib import Path

# Each folder whose tests use something, with what ends it.
SHARED: list[tuple[Path, Callable[[], None]]] = []

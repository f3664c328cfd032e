"""Labs that several files of live tests share; see `conftest.py` for their end."""

from pathlib import Path

from jobs.lab.lab import Lab

# Each with the folder of the tests that use it.
SHARED: list[tuple[Path, Lab]] = []

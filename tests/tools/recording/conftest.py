"""Subjects recorded again from the lab's Kafka."""

from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.lab.install.program import CompilerMissing
from jobs.lab.install.releases import KAFKA_VERSION


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[Callable[[str, Path], None]], Path]:
    """Record into an empty folder, and return that; skips where Java has no compiler."""

    def record(function: Callable[[str, Path], None]) -> Path:
        try:
            function(KAFKA_VERSION, tmp_path)
        except CompilerMissing as error:
            pytest.skip(str(error))
        return tmp_path

    return record

"""A kind of analysis that all of these tests ask, and folders for its answers."""

import pytest

from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import StubLauncher
from tests.console.runs.analyses.making import ANALYSIS, KIND


@pytest.fixture(autouse=True)
def registered(settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR, settings.CROSSLOG_ARCHIVE = tmp_path / "runs", tmp_path / "archive"
    ANALYSES[KIND] = ANALYSIS
    yield
    del ANALYSES[KIND]


@pytest.fixture
def launcher():
    return StubLauncher()

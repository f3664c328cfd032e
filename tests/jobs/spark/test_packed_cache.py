"""Compiled loops of packed code are found again, wherever the archive lies."""

from pathlib import Path

import pytest

from jobs.spark import settings
from jobs.spark.contract import JobSpec


def test_the_folder_depends_on_the_module_and_not_on_where_the_archive_is(monkeypatch):
    from jobs.spark.packed_cache import PackedCodeLocator

    monkeypatch.setenv("CROSSLOG_CACHE", "/cache")
    modules = [
        "/executors/app-1/0/jobs.zip/jobs/wire/a.py",
        "/executors/app-2/0/jobs.zip/jobs/wire/a.py",
        "/executors/app-1/0/jobs.zip/jobs/wire/b.py",
    ]
    found = [PackedCodeLocator(_loop, one) for one in modules]
    paths = [Path(one.get_cache_path()) for one in found]
    assert paths[0] == paths[1] != paths[2]
    assert paths[0].is_relative_to("/cache/numba")


@pytest.mark.parametrize("master", ["local[2]", "yarn"])
def test_numba_is_told_where_code_is_packed(master):
    spec = JobSpec("r", "replay", {}, spark={"master": master})
    found = settings.spark_settings(spec, "/venv/bin/python")
    told = found.get("spark.executorEnv.NUMBA_CACHE_LOCATOR_CLASSES", "")
    assert ("jobs.spark.packed_cache.PackedCodeLocator" in told) == (master == "yarn")


def _loop() -> None: ...

"""Engines that live and do nothing: Java, the border to Spark, only sleeps."""

import pytest

from jobs.spark import settings, submit
from jobs.spark.engine import folder
from tests.waiting import eventually

KINDS = (settings.ENGINE, settings.FLOWS)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexec sleep 600\n")
    java.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    runs = tmp_path / "runs"
    yield runs
    engines = [one for kind in KINDS for one in folder.list_engines(runs, kind)]
    for engine in engines:
        submit.kill_run(engine)
        eventually(lambda engine=engine: not submit.is_alive(engine))

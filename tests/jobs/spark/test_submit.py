"""A run begins where there is what it needs."""

import pytest

from jobs.spark.contract import JobSpec
from jobs.spark.submit import start_run


def test_without_java_where_java_home_points_nothing_is_started_and_the_reason_is_a_sentence(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    with pytest.raises(FileNotFoundError, match=r"jdk/bin/java\. Spark needs it: install a JDK"):
        start_run(JobSpec("a run", "backfill", {}), tmp_path / "run")
    assert not (tmp_path / "run").exists()

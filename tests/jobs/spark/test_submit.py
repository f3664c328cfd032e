"""A run begins where there is what it needs."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.spark import contract
from jobs.spark.contract import JobSpec
from jobs.spark.submit import kill_run, run_environment, start_run

REFERENCES = {"flow": {"source": {"sasl_password": "env:CROSSLOG_SECRET_EAST"}}}


def test_without_java_where_java_home_points_nothing_is_started_and_the_reason_is_a_sentence(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    with pytest.raises(FileNotFoundError, match=r"jdk/bin/java\. Spark needs it: install a JDK"):
        start_run(JobSpec("a run", "replicate", {}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_files_of_a_run_are_for_its_user_only_whatever_the_umask(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to("/bin/false")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    before = os.umask(0o022)
    try:
        start_run(JobSpec("a run", "replicate", {}), tmp_path / "run")
        kill_run(tmp_path / "run")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "run").iterdir()}
    assert {contract.SPEC, contract.LOG, contract.LEASE, contract.KEEPER} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_a_run_gets_what_it_needs_and_only_its_own_secrets(monkeypatch):
    own = {
        "CROSSLOG_SECRET_EAST": "passed on, the job refers to it",
        "CROSSLOG_SPARK_MASTER": "local[2]",
        "SPARK_CONF_DIR": "conf",
        "LC_ALL": "C.UTF-8",
        "ASKED_FOR": "by name",
    }
    others = ["CROSSLOG_SECRET_WEST", "METRICS_TOKEN", "SECRET_KEY", "DATABASE_URL", "ANYTHING"]
    for name, value in {**own, **dict.fromkeys(others, "kept")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CROSSLOG_RUN_VARIABLES", "ASKED_FOR")
    found = run_environment({"EXTRA": "given"}, spec=JobSpec("a run", "replicate", REFERENCES))
    assert {name: found.get(name) for name in own} == own
    assert (found["EXTRA"], found["PATH"] != "") == ("given", True)
    assert [name for name in others if name in found] == []


def test_an_engine_of_flows_gets_all_secrets_and_nothing_else(monkeypatch):
    for name in ("CROSSLOG_SECRET_EAST", "CROSSLOG_SECRET_WEST", "METRICS_TOKEN", "SECRET_KEY"):
        monkeypatch.setenv(name, "kept")
    found = run_environment(spec=JobSpec("flows-1", "flows", {}))
    assert {name for name, value in found.items() if value == "kept"} == {
        "CROSSLOG_SECRET_EAST",
        "CROSSLOG_SECRET_WEST",
    }


def test_without_a_job_there_is_no_secret(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_EAST", "kept")
    assert "CROSSLOG_SECRET_EAST" not in run_environment()


def test_a_run_leaves_nothing_of_the_tools_of_development_in_its_folder(tmp_path):
    asking = [sys.executable, "-c", "import jobs.cluster.protocol.transport.apis"]
    subprocess.run(asking, cwd=tmp_path, env=run_environment(), check=True)
    assert list(tmp_path.iterdir()) == []


def test_a_crash_in_a_library_leaves_in_the_log_of_the_run_where_it_was():
    crash = [sys.executable, "-c", "import ctypes\ndef reading(): ctypes.string_at(0)\nreading()"]
    ended = subprocess.run(
        crash, env=run_environment(), capture_output=True, text=True, check=False
    )
    assert "in reading" in ended.stderr


def test_two_writers_of_one_file_in_one_process_both_end_whole(tmp_path):
    def write():
        for number in range(300):
            contract.write_json(tmp_path / contract.SPEC, {"number": number})

    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(write) for _ in range(4)]:
            one.result()
    assert contract.read_json(tmp_path / contract.SPEC) == {"number": 299}
    assert [path.name for path in tmp_path.iterdir()] == [contract.SPEC]

"""What needs Spark says at once that there is no Java where JAVA_HOME points."""

import pytest

from jobs.cli import main

FLOW = """
name: east to west
source: {alias: east, bootstrap_servers: "127.0.0.1:1"}
target: {alias: west, bootstrap_servers: "127.0.0.1:1"}
"""


@pytest.mark.parametrize(
    "more", [["replicate"], ["backfill", "--archive", "a"]], ids=lambda one: one[0]
)
def test_a_java_home_without_a_java_is_bad_input(more, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    flow = tmp_path / "flow.yaml"
    flow.write_text(FLOW)
    assert main([*more, str(flow)]) == 2
    assert (
        f"JAVA_HOME is {tmp_path / 'jdk'}, but there is no bin/java in it."
        in capsys.readouterr().err
    )

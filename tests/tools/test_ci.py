"""The build server's script: same command as in the README, honest exit code, nothing left behind."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from jobs.spark.processes import start_ticks
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="run on Linux: /proc is read"
)


@pytest.fixture
def project(tmp_path):
    """A project whose tests leave a process in a session of its own behind."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    # With an initdb it installs no PostgreSQL here.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "initdb").symlink_to("/bin/true")
    return tmp_path


def write_tests(project: Path, code: int, seconds: int = 0) -> None:
    (project / "Makefile").write_text(
        "test:\n"
        "\t@setsid sh -c 'echo $$$$ > left.pid; exec sleep 300' &\n"
        f"\t@while ! [ -s left.pid ]; do sleep 0.05; done; sleep {seconds}\n"
        "\t@echo 'ERROR tests/test_a.py::test_b - no cluster'\n"
        "\t@echo '=== skipped tests by reason ==='; echo '       1  no cable'; echo '   1,001  skipped in all'\n"
        f"\t@echo '==== 3 passed, 1 skipped in 2.00s ===='; exit {code}\n",
        encoding="utf-8",
    )


def environment(project: Path) -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if name != "CROSSLOG_CI_MARK"}
    return found | {"PATH": f"{project}/bin:{found['PATH']}"}


@pytest.mark.parametrize("code", [0, 2])
def test_the_exit_code_and_the_last_lines_are_those_of_the_tests(project, code):
    write_tests(project, code)
    around = environment(project)
    ended = subprocess.run(
        [".ci/run"], cwd=project, capture_output=True, text=True, check=False, env=around
    )
    assert ended.returncode == code
    failed, *skipped, closing = ended.stdout.splitlines()[-5:]
    assert failed == "ERROR tests/test_a.py::test_b - no cluster"
    assert skipped[1:] == ["       1  no cable", "   1,001  skipped in all"]
    assert "3 passed, 1 skipped" in closing
    assert start_ticks(int((project / "left.pid").read_text())) is None


def test_a_stopped_run_ends_what_it_started(project):
    write_tests(project, 0, seconds=60)
    around = environment(project)
    run = subprocess.Popen([".ci/run"], cwd=project, env=around, stdout=subprocess.DEVNULL)
    left = project / "left.pid"
    eventually(lambda: left.exists() and left.read_text().strip())
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=30 * PATIENCE) == 143
    eventually(lambda: start_ticks(int(left.read_text())) is None)


def test_the_readme_names_the_command_that_the_build_server_runs():
    assert "\nmake test >" in (ROOT / ".ci" / "run").read_text("utf-8")
    assert "\nmake test" in (ROOT / "README.md").read_text("utf-8")

"""A program of ours is compiled where Java can."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.lab.errors import JavaMissing
from jobs.lab.install.java import find_java
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.install.program import CompilerMissing, with_program
from jobs.lab.install.releases import KafkaRelease
from tests.support import NO_COMPILER

pytestmark = pytest.mark.slow
SOURCE = Path(__file__).parents[4] / "jobs" / "lab" / "streams" / "ShopTotals.java"


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KafkaJvm:
    """A Java that was made without a compiler."""
    monkeypatch.setenv("CROSSLOG_CACHE", str(tmp_path))
    KafkaRelease().folder.mkdir(parents=True)
    try:
        java = find_java()
    except JavaMissing as error:
        pytest.skip(str(error))
    linker = java.command.resolve().with_name("jlink")
    if not linker.exists():
        pytest.skip(NO_COMPILER)
    folder = tmp_path / "runtime"
    command = [linker, "--add-modules", "java.base", "--output", folder]
    subprocess.run(command, check=True, capture_output=True)
    return KafkaJvm(replace(java, command=folder / "bin" / "java"), "")


def test_a_java_without_a_compiler_is_named_with_what_to_install(runtime):
    with pytest.raises(CompilerMissing, match=r"runtime/bin/java has no compiler.*install a JDK"):
        with_program(runtime, SOURCE)

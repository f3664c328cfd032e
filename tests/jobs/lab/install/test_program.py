"""A program of ours is compiled where Java can."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.lab.errors import JavaMissing, LabError
from jobs.lab.install.java import Java, find_java
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.install.program import CompilerMissing, with_program
from jobs.lab.install.releases import KafkaRelease
from tests.support import NO_COMPILER

pytestmark = pytest.mark.slow
SOURCE = Path(__file__).parents[4] / "jobs" / "lab" / "streams" / "ShopTotals.java"


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """The Java of this machine, beside an empty cache."""
    monkeypatch.setenv("CROSSLOG_CACHE", str(tmp_path))
    KafkaRelease().folder.mkdir(parents=True)
    try:
        return find_java()
    except JavaMissing as error:
        pytest.skip(str(error))


@pytest.fixture
def runtime(java: Java, tmp_path: Path) -> KafkaJvm:
    """A Java that was made without a compiler."""
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


def test_what_a_version_of_kafka_lacks_is_named_in_one_sentence(java, tmp_path):
    source = tmp_path / "Ship.java"
    source.write_text("class Ship { Sail one; Sail two; int three = Mast.HIGH; }")
    with pytest.raises(LabError) as caught:
        with_program(KafkaJvm(java, ""), source)
    assert str(caught.value) == (
        f"Ship.java does not compile with the classes of Kafka {KafkaRelease().version}: "
        "no class Sail; no variable Mast."
    )

import io
from collections import namedtuple
from pathlib import Path

import pytest

from jobs.lab.errors import FetchFailed, LabError
from jobs.lab.install import fetch
from jobs.lab.install.fetch import Progress
from jobs.lab.install.java import Java
from jobs.lab.install.releases import VERSIONS, KafkaRelease, TieredStorageJars

NEWEST = KafkaRelease()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSLOG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def java_that(folder, script):
    """A stand-in for the Java that runs Ivy."""
    command = folder / "java"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return Java(command, 17, "stand-in")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_listing_names_the_jars_of_one_kafka_version(version):
    jars = KafkaRelease(version).jars
    wanted = {f"{name}-{version}.jar" for name in ("kafka_2.13", "kafka-tools", "kafka-shell")}
    assert wanted <= set(jars)
    assert not [n for n in jars if n.startswith(("kafka", "connect")) and version not in n]
    assert all(len(digest) == 64 for digest in jars.values())


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_logs_through_one_library(version):
    jars = KafkaRelease(version).jars
    assert [n for n in jars if n.startswith(("slf4j-", "log4j-slf4j"))] == [
        "log4j-slf4j-impl-2.25.4.jar",
        "slf4j-api-1.7.36.jar",
    ]


@pytest.mark.parametrize("version", ["4.3", "1.0.0", "", "newest"])
def test_a_version_that_the_lab_does_not_have_is_refused(version):
    with pytest.raises(LabError, match=r"It can run 2\.8\.2, "):
        KafkaRelease(version)


def test_ivy_is_asked_for_no_repository_of_ours():
    assert "http" not in fetch.ivy_file(NEWEST)


def test_of_tiered_storage_only_the_test_jar_is_fetched():
    jars = TieredStorageJars()
    assert 'm:classifier="test"' in fetch.ivy_file(jars)
    assert list(jars.jars) == ["kafka-storage-4.3.1-test.jar"]
    assert jars.jars_folder != NEWEST.jars_folder
    assert "classifier" not in fetch.ivy_file(NEWEST)


def test_jars_that_are_there_are_not_fetched_again(cache):
    folder = cache / "kafka" / "4.3.1" / "jars"
    folder.mkdir(parents=True)
    for name in NEWEST.jars:
        (folder / name).touch()
    fetch.fetch_jars(Java(Path("/nonexistent"), 17, ""), NEWEST)


def test_the_class_path_has_a_fixed_order(cache):
    names = [Path(entry).name for entry in NEWEST.class_path.split(":")]
    assert names == sorted(NEWEST.jars)


@pytest.mark.parametrize(
    ("says", "words"),
    [
        pytest.param(
            "UnknownHostException: repo", "must reach a Maven repository", id="no-network"
        ),
        pytest.param("IOException: No space left on device", "is full", id="disk-full"),
        pytest.param("something else", "Ivy said: something else", id="anything-else"),
    ],
)
@pytest.mark.usefixtures("cache")
def test_a_failed_fetch_says_why(tmp_path, says, words):
    with pytest.raises(FetchFailed, match=words):
        fetch.fetch_jars(java_that(tmp_path, f"echo '{says}'; exit 1"), NEWEST)


def test_a_failed_fetch_leaves_nothing_that_looks_complete(tmp_path, cache):
    with pytest.raises(FetchFailed):
        fetch.fetch_jars(java_that(tmp_path, "exit 1"), NEWEST)
    assert not NEWEST.is_fetched
    assert {path.name for path in (cache / "kafka" / "4.3.1").iterdir()} == {"fetch.lock"}


@pytest.mark.usefixtures("cache")
def test_damaged_jars_are_refused(tmp_path):
    script = 'for last; do :; done; mkdir -p "$(dirname "$last")"; exit 0'
    with pytest.raises(FetchFailed, match="98 of 98 jars came damaged"):
        fetch.fetch_jars(java_that(tmp_path, script), NEWEST)


@pytest.mark.usefixtures("cache")
def test_a_disk_without_room_is_refused_before_the_download(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(1, 1, 5 << 20))
    with pytest.raises(FetchFailed, match="only 5 MB are free"):
        fetch.fetch_jars(java_that(tmp_path, "exit 0"), NEWEST)


def test_ivy_comes_with_pyspark():
    assert fetch.ivy_jar().name.startswith("ivy-")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_bar():
    stream = Terminal()
    Progress("fetching", 10, stream).show(5)
    assert "fetching [###############...............] 5/10" in stream.getvalue()


def test_a_log_gets_one_line_in_a_while():
    stream = io.StringIO()
    progress = Progress("fetching", 10, stream)
    progress.show(1)
    progress.show(2)
    assert stream.getvalue() == "fetching: 1/10 \n"


def test_the_end_says_how_long_it_took():
    stream = io.StringIO()
    with Progress("fetching", 1, stream):
        pass
    assert stream.getvalue().startswith("fetching: done in 0.")


def test_a_failed_step_is_not_called_done():
    stream = io.StringIO()
    with pytest.raises(RuntimeError), Progress("fetching", 1, stream):
        raise RuntimeError
    assert "done" not in stream.getvalue()

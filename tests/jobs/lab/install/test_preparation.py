from pathlib import Path

import pytest

from jobs.lab.install import preparation
from jobs.lab.install.java import Java
from jobs.lab.install.releases import KafkaRelease

JAVA = Java(Path("/usr/bin/java"), 17, "one")
KAFKA = KafkaRelease()


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSLOG_CACHE", str(tmp_path))
    (tmp_path / "kafka" / "4.3.1").mkdir(parents=True)
    (tmp_path / "made.jsa").write_bytes(b"classes")
    return tmp_path / "made.jsa"


def test_a_kept_archive_is_found(made):
    assert preparation.keep_archive(JAVA, KAFKA, made) == preparation.find_archive(JAVA, KAFKA)


def test_an_archive_of_another_java_is_not_used(made):
    preparation.keep_archive(JAVA, KAFKA, made)
    assert preparation.find_archive(Java(JAVA.command, 17, "another"), KAFKA) is None


def test_an_archive_that_was_cut_short_is_not_used(made):
    preparation.keep_archive(JAVA, KAFKA, made).write_bytes(b"cla")
    assert preparation.find_archive(JAVA, KAFKA) is None


def test_without_an_archive_no_option_is_given():
    assert preparation.options_for(None) == []

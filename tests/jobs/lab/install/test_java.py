import pytest

from jobs.lab.errors import JavaMissing
from jobs.lab.install.java import find_java, read_major


@pytest.mark.parametrize(
    ("text", "major"),
    [
        pytest.param('openjdk version "17.0.15" 2025-04-15', 17, id="17"),
        pytest.param('openjdk version "21" 2023-09-19', 21, id="first-release-has-no-dots"),
        pytest.param('java version "1.8.0_292"', 8, id="old-numbering"),
        pytest.param('openjdk version "25-ea" 2025-09-16', 25, id="early-access"),
        pytest.param("command not found", None, id="no-java"),
    ],
)
def test_the_version_is_read_from_what_java_says(text, major):
    assert read_major(text) == major


def fake_java(folder, says):
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    command.chmod(0o755)


def test_java_home_comes_before_the_path(tmp_path, monkeypatch):
    fake_java(tmp_path, 'openjdk version "21.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert (find_java().command, find_java().major) == (tmp_path / "bin" / "java", 21)


def test_an_old_java_is_refused_with_its_version(tmp_path, monkeypatch):
    fake_java(tmp_path, 'openjdk version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match=r'too old: it says openjdk version "11.0.2".*Java 17'):
        find_java()


def test_a_wrong_java_home_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match=f"JAVA_HOME is {tmp_path}"):
        find_java()


def test_no_java_at_all_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissing, match=r"no java on the PATH.*Install a JDK"):
        find_java()

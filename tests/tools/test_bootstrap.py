"""What a person on a fresh machine is told."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent.parent / "tools"


@pytest.fixture
def bootstrap(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("bootstrap")


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("machine")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOLS / "bootstrap.py"), *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def fake_java(folder: Path, answer: str, code: int = 0) -> str:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{answer}' >&2\nexit {code}\n", encoding="utf-8")
    java.chmod(0o755)
    return str(java)


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        pytest.param('openjdk version "17.0.15" 2025-04-15', 17, id="seventeen"),
        pytest.param('openjdk version "25" 2025-09-16', 25, id="first release"),
        pytest.param('java version "1.8.0_412"', 8, id="old numbering"),
        pytest.param(
            "The operation couldn't be completed.".replace("'", ""), None, id="macOS stub"
        ),
    ],
)
def test_the_version_of_a_java_is_read(machine, tmp_path, answer, version):
    assert machine.java_version(fake_java(tmp_path, answer)) == version


def test_a_missing_java_is_told_with_what_to_install(tmp_path):
    ended = run("main", "--java", JAVA_HOME=str(tmp_path))
    assert ended.returncode == 1
    assert "Kafka and Spark need Java 17 or newer" in ended.stderr
    assert "apt-get install default-jdk-headless" in ended.stderr


def test_a_java_that_is_too_old_is_named(tmp_path):
    fake_java(tmp_path, 'openjdk version "11.0.2"')
    assert "JAVA_HOME points to Java 11" in run("main", "--java", JAVA_HOME=str(tmp_path)).stderr


def test_a_full_disk_is_told_before_anything_is_fetched(bootstrap):
    with pytest.raises(bootstrap.MissingError, match="the disk is too full"):
        bootstrap.check_space(needed_mb=10**9)


def test_pip_settings_of_the_environment_reach_uv(bootstrap, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "http://127.0.0.1:8/a http://127.0.0.1:8/b")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    environment = bootstrap.uv_environment()
    assert environment["UV_DEFAULT_INDEX"] == "http://127.0.0.1:9/simple"
    assert environment["UV_INDEX"] == "http://127.0.0.1:8/a http://127.0.0.1:8/b"


def test_another_lock_file_means_another_environment(bootstrap, tmp_path):
    for name in ("install", "main"):
        (tmp_path / f"{name}.txt").write_text("other==1", encoding="utf-8")
    assert bootstrap.fingerprint("main", tmp_path) != bootstrap.fingerprint("main")


def test_an_old_python_gets_a_sentence_and_no_syntax_error():
    first_lines = (TOOLS / "bootstrap.py").read_text("utf-8").partition("import argparse")[0]
    code = first_lines.replace("sys.version_info < OLDEST_PYTHON", "True")
    code = code.replace("shutil.which(name)", "None")
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "crosslog needs Python 3.11 or newer" in ended.stderr


@pytest.mark.parametrize(
    ("user", "has_lists", "is_found"),
    [(1000, True, True), (0, False, True), (1000, False, False)],
    ids=["by any user", "by root, after the lists", "by no other user without lists"],
)
def test_promtool_is_taken_out_of_debians_package(
    machine, tmp_path, monkeypatch, user, has_lists, is_found
):
    lists = tmp_path / "lists"
    if has_lists:
        lists.touch()
    download = f'[ -e {lists} ] && touch "prometheus_2%3a2_all.deb"'
    programs = {
        "apt-get": f"if [ $1 = update ]; then touch {lists}; else {download}; fi",
        "dpkg-deb": "mkdir -p $3/usr/bin && cp $2 $3/usr/bin/promtool",
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert machine.fetch_promtool(tmp_path) == is_found
    assert (tmp_path / "promtool").exists() == is_found


def test_a_system_without_apt_is_told_what_will_be_skipped(machine, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    machine.offer_promtool(tmp_path)
    assert "alert rules will be skipped: no promtool here" in capsys.readouterr().out

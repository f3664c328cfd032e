"""A command of `crosslog` imports what it needs and no more, and so does tab completion."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.commands.table import COMMANDS
from jobs.spark.analyses.kinds import ANALYSES, LISTED
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = {"kio", "confluent_kafka", "asyncio", "ssl", "cryptography", "requests"}
HEAVY = {"numpy", "pyarrow", "numba", "django", "pyspark", "yaml", *CLIENTS}
THE_TABLE = {
    *("jobs", "jobs.cli", "jobs.version", "jobs.visible", "jobs.commands", "jobs.commands.table"),
    *("jobs.spark", "jobs.spark.analyses", "jobs.spark.analyses.kinds"),
}
RUN = """
import json, os, sys
from jobs.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
os.write(2, ("\\n" + json.dumps(list(sys.modules))).encode())
"""
DESCRIBED = (
    "Topic: orders\tTopicId: AAAAAAAAAAAAAAAAAAAAAA\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
)


def modules(*words, folder=ROOT):
    """Return what a command has imported when it ends."""
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(ended.stderr.splitlines()[-1]))


@pytest.mark.parametrize("word", ["--version", "--help", "-h", "wrong", "--wrong"])
def test_what_names_no_command_imports_the_table_only(word):
    assert {one for one in modules(word) if one.split(".")[0] == "jobs"} <= THE_TABLE


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_imports_nothing_heavy(name):
    assert modules(name, "--help") & HEAVY == set()


@pytest.mark.parametrize("kind", LISTED)
def test_the_module_of_an_analysis_is_the_one_that_the_table_names(kind):
    assert ANALYSES[kind].kind == kind


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        pytest.param("what-if FILE --lose-broker 1", {"numpy"}, id="what-if"),
        pytest.param("design --site a=1,2,3 --rpo zero", {"numpy"}, id="design"),
        pytest.param("detect-policy --topics FILE", set(), id="detect-policy"),
        pytest.param("mirror-config FILE", {"yaml"}, id="mirror-config"),
        pytest.param(
            "translate --syncs FILE --topic t --partition 0 --offset 1", {"numpy"}, id="translate"
        ),
    ],
)
def test_a_command_about_a_document_imports_what_it_computes_with(words, needed, tmp_path):
    key, value = encode_offset_sync(OffsetSync("t", 0, 1, 2))
    sync = {"partition": 0, "offset": 0, "key_hex": key.hex(), "value_hex": value.hex()}
    documents = {
        "what-if": DESCRIBED,
        "detect-policy": "orders\neast.orders\n",
        "mirror-config": "clusters = a, b\na->b.enabled = true\n",
        "translate": json.dumps(sync | {"timestamp": 1}),
    }
    (tmp_path / "FILE").write_text(documents.get(words.split()[0], ""), encoding="utf-8")
    assert modules(*words.split(), folder=tmp_path) & HEAVY == needed


def completed(folder, line):
    """Return what bash completes a line to."""
    program = folder / "crosslog"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m jobs "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    register = f"{sys.executable} -m argcomplete.scripts.register_python_argcomplete crosslog"
    script = (
        f'eval "$({register})"; COMP_LINE="$0"; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; '
        '_python_argcomplete crosslog; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ended = subprocess.run(
        ["bash", "-c", script, line],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {one.strip() for one in ended.stdout.splitlines()} - {""}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("crosslog dri", {"drift"}, id="a command"),
        pytest.param("crosslog isr", {"isr-churn"}, id="an analysis"),
        pytest.param("crosslog drift --js", {"--json"}, id="an option"),
        pytest.param("crosslog isr-churn --his", {"--histories"}, id="an option of an analysis"),
        pytest.param("crosslog design --rpo z", {"zero"}, id="a word of an option"),
        pytest.param("crosslog lab sto", {"stop", "stop-node"}, id="a command of the lab"),
        pytest.param("crosslog wrong --", {"--help", "--version"}, id="no command"),
    ],
)
def test_bash_completes(line, words, tmp_path):
    assert completed(tmp_path, line) == words


def test_completing_imports_what_the_help_of_the_command_does(tmp_path):
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "words")}
    line = {"COMP_LINE": "crosslog failover --rep", "COMP_POINT": "23"}
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "jobs"],
        cwd=ROOT,
        env={**os.environ, **asked, **line},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {one.rpartition("|")[2].strip() for one in ended.stderr.splitlines()}
    assert "--report" in (tmp_path / "words").read_text(encoding="utf-8")
    assert "jobs.replication.failover.model" in imported
    assert imported & {*HEAVY, "jobs.lab.control", "jobs.streams.keys"} == set()

"""Every command says in a sentence what is wrong with a file or folder that it is given, and exits with 2."""

import itertools
import random

import pytest

from jobs.cli import build_parser, main
from jobs.spark.analyses.kinds import ANALYSES
from tests.unprivileged import without_roots_access

GOOD_FLOW = """
name: east to west
source: {alias: east, bootstrap_servers: "127.0.0.1:1"}
target: {alias: west, bootstrap_servers: "127.0.0.1:1"}
"""
ONE = ("--topic", "t", "--partition", "0", "--offset", "1")
MORE = {
    "before-a-moment": ("--at", "2026-03-31T12:00:00Z"),
    "backfill": ("--archive", "NEW"),
    "topic-profile": ("--topics", "orders"),
    "key-skew": ("--topics", "orders"),
    "store-at": ("--topic", "orders"),
    "dead-letters": ("--topics", "orders", "--extractor", "spring-dlt"),
    "replay-plan": ("--topics", "orders", "--extractor", "spring-dlt"),
    "redrive": ("--plan", "SYNCS", "--plan-id", "a"),
    "slips": ("--extractor", "cloudevents"),
    "outbox": ("--topics", "orders"),
    "claim-checks": ("--topics", "orders"),
    "tiered-reach": ("--topics", "orders"),
}
# BAD is the argument under test, FLOW a flow that can be read, NEW a folder that is not there yet.
CASES = {
    "replicate": ["replicate", "BAD"],
    "drift": ["drift", "BAD"],
    "translate --syncs": ["translate", "--syncs", "BAD", *ONE],
    "translate --archive": ["translate", "--archive", "BAD", *ONE],
    "translate --offsets": ["translate", "--syncs", "SYNCS", "--offsets", "BAD"],
    "translate --refine": ["translate", "--syncs", "SYNCS", *ONE, "--refine", "BAD"],
    "checkpoints": ["checkpoints", "BAD", "--once"],
    "failover": ["failover", "BAD"],
    "failover --undo": ["failover", "FLOW", "--undo", "BAD"],
    "failover --reverse-flow": ["failover", "FLOW", "--reverse-flow", "BAD"],
    "report": ["report", "quorum", "--token-file", "BAD"],
    "verify-report": ["verify-report", "BAD"],
    "verify-report --key": ["verify-report", "JSON", "--key", "BAD"],
    "verify-report --same": ["verify-report", "JSON", "--same", "BAD"],
    "mirror-config": ["mirror-config", "BAD"],
    "mirror-config --topics": ["mirror-config", "MM2", "--topics", "A=BAD"],
    "detect-policy": ["detect-policy", "--topics", "BAD"],
    "design": ["design", "BAD"],
    "follow-metadata": ["follow-metadata", "BAD", "--into", "NEW"],
    "import-metadata": ["import-metadata", "BAD", "--into", "NEW"],
    "history": ["history", "BAD"],
    "state": ["state", "BAD"],
    "dump-log": ["dump-log", "BAD"],
    "voters": ["voters", "BAD"],
    "quorum-change": ["quorum-change", "BAD", "--remove", "1"],
    "quorum-change --properties": ["quorum-change", "BAD", "--add", "4", "--properties", "BAD"],
    "streams": ["streams", "BAD"],
    "streams --topology": ["streams", "JSON", "--topology", "BAD"],
    "what-if": ["what-if", "BAD", "--lose-broker", "1"],
    **{
        name: [name, "BAD", *MORE.get(kind, ())]
        for kind, one in ANALYSES.items()
        for name in [one.command or kind]
    },
}
# What is no bad input for these: names of topics may be anything, a segment is read as far as it goes, a dump
# may be empty, and a report that another key signed or that looks otherwise is a finding.
ACCEPTED = {
    ("detect-policy", "empty"), ("translate --syncs", "empty"), ("mirror-config --topics", "binary"), ("mirror-config --topics", "empty"),
    ("verify-report --key", "empty"), ("verify-report --same", "empty"), ("verify-report --same", "binary"),
    ("dump-log", "binary"), ("dump-log", "empty"), ("translate --offsets", "empty"),
}  # fmt: skip
FOLDERS = {"history", "state", "voters", "translate --archive"}
KINDS = ["missing", "folder", "below a file", "binary", "empty", "unreadable"]
FAULTS = [one for one in itertools.product(CASES, KINDS) if one not in ACCEPTED]


@pytest.fixture
def place(tmp_path):
    """Return a function from a kind of fault to its path."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(random.Random(1).randbytes(5000))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "unreadable").write_bytes(b"x")
    (tmp_path / "unreadable").chmod(0)
    (tmp_path / "FLOW").write_text(GOOD_FLOW)
    (tmp_path / "MM2").write_text(
        "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\n"
    )
    (tmp_path / "JSON").write_text("{}")
    key, value = b"\0\1t" + bytes(4), bytes(16)
    (tmp_path / "SYNCS").write_text(
        f'{{"partition":0,"offset":0,"timestamp":0,"key_hex":"{key.hex()}","value_hex":"{value.hex()}"}}\n'
    )
    names = {"below a file": "empty/x", "missing": "nowhere"}

    return lambda kind: tmp_path / names.get(kind, kind)


@pytest.mark.parametrize(("name", "kind"), FAULTS)
def test_a_file_that_cannot_be_used_is_a_sentence_and_exit_code_2(name, kind, place, capfd):
    bad = place(kind)
    around = place("folder").parent
    words = {one: str(around / one) for one in ("FLOW", "MM2", "JSON", "SYNCS", "NEW")}
    words |= {"BAD": str(bad), "A=BAD": f"A={bad}"}
    arguments = [words.get(one, one) for one in CASES[name]]
    with without_roots_access():
        assert main(arguments) == 2
    told = capfd.readouterr()
    assert told.out == ""
    assert bad.name in told.err
    assert "[Errno" not in told.err
    assert "Traceback" not in told.err


def test_no_command_is_forgotten():
    (commands,) = (one for one in build_parser()._actions if one.dest == "command" or one.choices)
    assert set(commands.choices) - {"lab"} == {name.split()[0] for name in CASES}

"""Clusters that people reported: what `crosslog what-if` says of each, also from standard input."""

import io
import json
import sys

import pytest

from jobs.cli import main
from tests.support import REPORTED


@pytest.fixture
def asked(capsys):
    """Return the exit code and the answer about a reported cluster."""

    def asked(path: str, *options: str):
        code = main(["what-if", str(REPORTED / path), *options, "--json"])
        told = json.loads(capsys.readouterr().out)
        return code, {f"{one['topic']}-{one['partition']}": one for one in told["partitions"]}, told

    return asked


@pytest.mark.parametrize("file", ["default_first.json", "topic_first.json"])
def test_the_default_counts_wherever_it_is_said(asked, file):
    code, found, _ = asked(f"configs_in_any_order/{file}", "--lose-broker", "2")
    after = found["farm.retention-0"]["after"]
    assert (code, after["severity"], after["writable"]) == (1, "under_min_isr", False)


def test_isrs_is_the_isr(asked):
    code, found, _ = asked("isr_under_another_name/isrs.json", "--lose-broker", "1")
    one = found["orders-0"]
    assert (one["before"]["isr"], one["before"]["severity"]) == ([1], "under_min_isr")
    assert (code, one["after"]["leader"]) == (1, None)


@pytest.mark.parametrize("file", ["kcat_metadata.json", "replicas_as_objects.json"])
def test_replicas_may_be_objects(asked, file):
    code, found, _ = asked(f"isr_under_another_name/{file}", "--lose-broker", "1")
    one = found["orders-0"]
    assert (one["before"]["isr"], one["before"]["leader"], one["before"]["writable"]) == (
        [1],
        1,
        None,
    )
    assert (code, one["after"]["leader"]) == (1, None)


def test_a_min_isr_that_is_not_in_the_log_is_not_known(asked, capsys):
    file = "min_isr_not_in_the_log/state.json"
    code, found, told = asked(file, "--lose-broker", "2")
    one = found["farm.pair-0"]
    assert (code, one["before"]["writable"], one["after"]["writable"]) == (0, None, None)
    assert one["min_insync_replicas"] is None
    assert one["condition"] == (
        "min.insync.replicas is unknown: writable if it is 1, not if it is 2 or more."
    )
    assert told["cluster"]["writable_unknown"] == 1
    # Broker 2 is fenced: whether the controller of its id lives, the log does not tell.
    assert told["quorum"]["before"]["not_known"] == [2]
    main(["what-if", str(REPORTED / file), "--lose-broker", "2"])
    text = capsys.readouterr().out
    assert "min.insync.replicas of 1 of 1 partitions is not known" in text
    assert "  farm.pair-0: min.insync.replicas is unknown: writable if it is 1" in text
    main(["what-if", str(REPORTED / file), "--matrix"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("  ")[1:] != []
    assert "not known" in lines[1]


def test_the_quorum_is_unknown_where_the_log_does_not_tell_enough_voters(asked):
    _, _, told = asked("min_isr_not_in_the_log/state.json", "--lose-broker", "1")
    quorum = told["quorum"]["after"]
    assert (quorum["known"], quorum["has_majority"], quorum["missing"]) == (False, None, [1])


def test_standard_input_is_read(monkeypatch, capsys):
    text = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\r\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-16"))))
    assert main(["what-if", "-", "--lose-broker", "1", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["partitions"]
    assert (one["after"]["leader"], one["after"]["writable"]) == (2, None)

"""`crosslog history` and `crosslog state` on the real log."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main
from tests.support import KRAFT_LOG, METADATA_FOLDER

PATH = str(KRAFT_LOG)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_history_of_a_partition_has_epochs_replicas_and_causes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["history", PATH, "--topic", "t9", "--partition", "0", "--json"]) == 0
    first, second = lines(capsys)
    assert (first["cause"], first["time"], first["isr"], first["leader"]) == (
        "snapshot",
        None,
        [1],
        1,
    )
    told = {name: second[name] for name in ("offset", "epoch", "time", "leader", "leaderEpoch")}
    assert told == {
        "offset": 932,
        "epoch": 1,
        "time": "2026-11-21T07:18:50.449Z",
        "leader": -1,
        "leaderEpoch": 1,
    }
    told = {name: second[name] for name in ("partitionEpoch", "isr", "elr", "replicas", "cause")}
    assert told == {
        "partitionEpoch": 1,
        "isr": [],
        "elr": [1],
        "replicas": [1],
        "cause": "controlled_shutdown",
    }
    assert second["causeBroker"] == 1


def test_the_history_for_people_says_the_cause_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", PATH, "--topic", "t9", "--partition", "0"]) == 0
    assert "controlled shutdown of broker 1: no leader" in capsys.readouterr().out


def test_the_history_of_brokers_is_a_kind_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", PATH, "--kind", "broker", "--json"]) == 0
    assert [one["cause"] for one in lines(capsys)] == [
        "snapshot",
        "controlled_shutdown",
        "broker_fenced",
    ]


def test_all_kinds_print_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", PATH, "--kind", "all"]) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) == 337
    assert "(redacted" not in text


def test_a_topic_that_the_log_never_had_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", PATH, "--topic", "nope"]) == 2
    assert "never had a topic nope" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["history", "state"])
def test_a_folder_without_a_log_is_bad_input(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_damaged_log_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = METADATA_FOLDER / "00000000000000000875.log"
    content = bytearray(source.read_bytes())
    content[300] ^= 1
    (tmp_path / source.name).write_bytes(content)
    assert main(["history", str(tmp_path), "--kind", "broker", "--json"]) == 1
    captured = capsys.readouterr()
    assert "missing" in captured.err
    assert all(json.loads(line)["kind"] == "broker" for line in captured.out.splitlines())


def test_the_state_at_an_offset_is_everything_that_was_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["state", PATH, "--offset", "930", "--json"]) == 0
    (told,) = lines(capsys)
    assert (told["offset"], told["epoch"], told["unknownBefore"]) == (930, 1, None)
    assert [(one["brokerId"], one["fenced"]) for one in told["brokers"]] == [(1, False)]
    assert [one["name"] for one in told["topics"]] == ["t10", "t11", "t8", "t9"]
    assert len(told["partitions"]) == 160
    assert {one["leader"] for one in told["partitions"]} == {1}
    assert told["features"]["metadata.version"] == 30
    assert told["configs"] == [
        {"resourceType": "BROKER", "resourceName": "", "name": "min.insync.replicas", "value": "1"}
    ]
    assert [one["id"] for one in told["voters"]] == [1]
    assert told["kraftVersion"] == 1


@pytest.mark.parametrize(
    ("time", "offset"),
    [
        pytest.param("2026-11-21T07:18:50.449Z", 1091, id="with the records of this very time"),
        pytest.param("2026-11-21T07:18:50.448Z", 930, id="a millisecond before"),
        pytest.param("2026-11-21T08:18:50.448+01:00", 930, id="another zone"),
        pytest.param("2026-11-21T07:18:50.448", 930, id="without a zone it is UTC"),
        pytest.param("2026-11-22", 1093, id="behind the end"),
    ],
)
def test_the_state_at_a_time_is_that_before_the_first_later_record(
    time: str, offset: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["state", PATH, "--time", time, "--json"]) == 0
    assert lines(capsys)[0]["offset"] == offset


def test_a_moment_before_the_log_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", PATH, "--offset", "5"]) == 2
    assert "the log begins later" in capsys.readouterr().err


@pytest.mark.parametrize("moment", [["--offset", "-1"], ["--time", "yesterday"]])
def test_what_is_no_moment_is_refused(moment: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["state", PATH, *moment])


def test_the_state_for_people_names_brokers_voters_and_partitions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["state", PATH, "--topic", "t9"]) == 0
    text = capsys.readouterr().out
    assert "1  fenced, in controlled shutdown  no rack  epoch 14" in text
    assert "t9-0  leader none  leader epoch 1  isr []  elr [1]  replicas [1]" in text
    assert "t8-0" not in text


def test_the_difference_of_two_moments_names_what_is_not_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["state", PATH, "--offset", "930", "--diff-to", "932", "--json"]) == 0
    (told,) = lines(capsys)
    assert (told["from"]["offset"], told["to"]["offset"]) == (930, 932)
    broker, partition = told["differences"]
    assert (broker["kind"], broker["after"]["inControlledShutdown"]) == ("broker", True)
    assert partition["key"][1:] == ["t9", 0]
    assert partition["changed"] == [
        "isr",
        "elr",
        "lastKnownElr",
        "leader",
        "leaderEpoch",
        "partitionEpoch",
    ]


def test_the_difference_for_people_is_in_kafkas_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", PATH, "--offset", "930", "--diff-to", "1093", "--topic", "t9"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("offset 930 -> 1093: 40 differences")
    assert "leader: 1 -> -1, leaderEpoch: 0 -> 1" in text


def test_the_same_moment_has_no_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", PATH, "--offset", "900", "--diff-to", "2026-11-21T07:18:35.162Z"]) == 0
    assert capsys.readouterr().out == "offset 900 -> 900: no differences\n"

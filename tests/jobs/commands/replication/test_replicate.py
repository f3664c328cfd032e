"""What `crosslog replicate` says, and with which code it ends."""

import pytest

from jobs.cli import main
from jobs.commands.replication.replicate import (
    duration,
    exit_code,
    result_line,
    size_of,
    summary_line,
)
from jobs.spark.contract import JobResult, Outcome


def row(state: str = "copying", records: int = 0, rate: float = 0.0, size: float = 0.0) -> dict:
    return {"state": state, "records": records, "rate_per_s": rate, "bytes_per_s": size}


def progress(*rows: dict, eta_s: float | None = None) -> dict:
    return {"partitions": list(rows), "eta_s": eta_s, "message": "Starting."}


def test_a_line_adds_up_what_the_partitions_do():
    line = summary_line(
        progress(row(records=1500, rate=100, size=2e6), row("caught_up", 500), eta_s=754.2)
    )
    assert line == (
        "2,000 records copied, 100 records/s, 2.0 MB/s, about 12 min 34 s left; "
        "1 copying, 1 caught up"
    )


@pytest.mark.parametrize("eta_s", [None, 0.0])
def test_a_line_says_nothing_about_a_time_that_is_not_known_or_that_is_over(eta_s):
    assert "left" not in summary_line(progress(row(), eta_s=eta_s))


def test_a_line_before_the_first_survey_says_what_happens():
    assert summary_line(progress()).endswith("Starting.")


def test_the_last_line_says_what_was_copied_in_which_time():
    summary = {"records": 200_000, "bytes": 21_000_000, "seconds": 12.5}
    result = JobResult(Outcome.SUCCEEDED, None, summary)
    assert result_line(result) == "succeeded: 200,000 records, 21.0 MB in 12.5 s (16,000 records/s)"


@pytest.mark.parametrize(
    ("outcome", "until_caught_up", "expected"),
    [
        (Outcome.SUCCEEDED, True, 0),
        (Outcome.STOPPED, True, 1),
        (Outcome.STOPPED, False, 0),
        (Outcome.FAILED, True, 1),
        (Outcome.FAILED, False, 1),
        (Outcome.CRASHED, False, 1),
    ],
)
def test_zero_means_that_what_was_asked_for_was_done(outcome, until_caught_up, expected):
    assert exit_code(JobResult(outcome), until_caught_up=until_caught_up) == expected


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (59.4, "59 s"),
        (61, "1 min 1 s"),
        (3_600, "1 h 0 min"),
        (90_061, "1 d 1 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e12, "2.5 TB")]
)
def test_a_size_has_a_unit_of_a_thousand(count, words):
    assert size_of(count) == words


def test_a_flow_that_mirror_maker_copies_is_refused(tmp_path, capsys):
    flow = tmp_path / "flow.yaml"
    flow.write_text(
        "name: f\ncopied_by: mirror_maker\n"
        "source: {alias: east, bootstrap_servers: 'a:1'}\n"
        "target: {alias: west, bootstrap_servers: 'b:1'}\n"
    )
    assert main(["replicate", str(flow)]) == 2
    assert "copied_by: MirrorMaker 2 replicates this flow" in capsys.readouterr().err

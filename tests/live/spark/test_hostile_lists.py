"""Lists of offsets that claim or hold too much, asked of the warm engine: each ends its own question only."""

import shutil
import uuid

import pytest

from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec, Outcome
from jobs.spark.engine import door
from tests.jobs.spark.analyses.offsets.archives import flow, make_archive
from tests.jobs.spark.analyses.offsets.hostile_lists import ABORTS, HOSTILE
from tests.live.spark.runs import answer_of, end_engines, engine_of
from tests.waiting import Stalls, eventually

pytestmark = pytest.mark.timeout(900)
STOPS_WITHIN_S = 2.0
CASES = {name: words for name, (_, words) in HOSTILE.items()} | {
    "a footer that ends its reader": "The process that read it ended"
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("hostile")
    make_archive(found / "archive", {("orders", 0): [(100, 90), (200, 180)]})
    for name, (write, _) in HOSTILE.items():
        write(found / name)
    shutil.copy(ABORTS, found / "a footer that ends its reader")
    (found / "good").write_text("orders,0,100\n")
    (found / "long").write_text("".join(f"t{number:x},0,0\n" for number in range(1_500_000)))
    yield found
    end_engines(found / "runs")


def ask(folder, name):
    """Hand a question about a list over; returns the folder of its run."""
    run_dir = folder / "runs" / uuid.uuid4().hex[:8]
    archive = str(folder / "archive")
    values = {
        "arguments": checked_arguments(ANALYSES["translate"], {"flow": "it", "offsets": name}),
        "resources": {
            "flow": {"flow": flow().to_mapping(), "archive": archive},
            "offsets": {"path": str(folder / name), "most_rows": 50_000_000},
        },
        "tables": str(run_dir / "tables"),
        "histories": str(folder / "histories"),
        "tasks": 2,
    }
    door.start_run(JobSpec(run_dir.name, "translate", values, 600.0), run_dir)
    return run_dir


@pytest.mark.parametrize(("name", "words"), CASES.items(), ids=CASES)
def test_a_list_that_holds_or_claims_too_much_ends_its_question_at_its_field(folder, name, words):
    run_dir = ask(folder, name)
    result = answer_of(run_dir)
    assert result.outcome is Outcome.FAILED
    assert result.error.startswith("offsets: ")
    assert words in result.error
    following = ask(folder, "good")
    assert answer_of(following).outcome is Outcome.SUCCEEDED
    assert engine_of(following) == engine_of(run_dir)


def test_a_long_list_is_cancelled_at_once_and_the_engine_goes_on(folder):
    run_dir = ask(folder, "long")
    eventually(lambda: "Translates" in door.read_progress(run_dir)["message"], 60)
    with Stalls() as stalls:
        door.request_stop(run_dir, "Ada does not want it any more.")
        assert answer_of(run_dir).outcome is Outcome.STOPPED
    assert stalls.took_s < STOPS_WITHIN_S
    following = ask(folder, "good")
    assert answer_of(following).outcome is Outcome.SUCCEEDED
    assert engine_of(following) == engine_of(run_dir)

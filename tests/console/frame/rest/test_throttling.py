import subprocess
import sys
from pathlib import Path

import pytest

from console.frame.rest.throttling import BUCKETS, Buckets
from tests.console.making import make_user
from tests.support import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limits(settings):
    settings.API_READS_PER_MIN = settings.API_WRITES_PER_MIN = 2
    BUCKETS.clear()
    yield settings
    BUCKETS.clear()


def test_a_bucket_holds_a_minutes_worth(clock):
    buckets = Buckets(clock)
    assert [buckets.take("ada", 3) for _ in range(4)] == [0, 0, 0, 20]


def test_a_bucket_fills_up_again_steadily(clock):
    buckets = Buckets(clock)
    for _ in range(3):
        buckets.take("ada", 3)
    clock.now = 20
    assert [buckets.take("ada", 3), buckets.take("ada", 3)] == [0, 20]


def test_a_bucket_never_holds_more_than_a_minutes_worth(clock):
    buckets = Buckets(clock)
    buckets.take("ada", 2)
    clock.now = 3600
    assert [buckets.take("ada", 2) > 0 for _ in range(3)] == [False, False, True]


def test_refused_requests_do_not_make_the_wait_longer(clock):
    buckets = Buckets(clock)
    buckets.take("ada", 1)
    assert [buckets.take("ada", 1) for _ in range(3)] == [60, 60, 60]


def test_one_callers_requests_are_not_anothers(clock):
    buckets = Buckets(clock)
    assert [buckets.take(name, 1) for name in ("ada", "otto")] == [0, 0]


def test_a_crowd_of_callers_pushes_out_those_that_rested_longest(clock):
    buckets = Buckets(clock)
    for number in range(50_000):
        clock.now += 0.001
        buckets.take(f"caller {number}", 1)
    assert buckets.take("caller 49999", 1) > 0


# Another process takes from the same file.
TAKE = "import sys; from pathlib import Path; from console.frame.rest.throttling import Buckets; "
TAKE += (
    "buckets = Buckets(lambda: 50.0, Path(sys.argv[1])); "
    "print([buckets.take('ada', 3) for _ in range(2)])"
)


def test_web_processes_of_a_machine_count_together(tmp_path):
    file = tmp_path / "rate-limits"
    here = Buckets(lambda: 50.0, file)
    root = Path(__file__).parents[4]
    told = subprocess.run(
        [sys.executable, "-c", TAKE, file], cwd=root, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[0.0, 0.0]"
    waits = [here.take("ada", 3) for _ in range(3)]
    assert waits[0] == 0
    assert waits[-1] > 0
    assert file.stat().st_mode & 0o077 == 0


def test_after_a_restart_of_the_machine_everybody_begins_anew(tmp_path):
    """Its clock counts from the start: what was written before is from later."""
    file = tmp_path / "rate-limits"
    Buckets(lambda: 5000.0, file).take("ada", 1)
    assert Buckets(lambda: 10.0, file).take("ada", 1) == 0


def test_without_its_file_a_process_counts_for_itself(tmp_path):
    buckets = Buckets(file=tmp_path / "missing" / "rate-limits")
    assert [buckets.take("ada", 1) > 0 for _ in range(2)] == [False, True]


@pytest.mark.django_db
def test_too_many_reads_are_told_when_to_come_back(limits, sign_in, viewer):
    client = sign_in(viewer)
    codes = [client.get("/api/v1/flows/").status_code for _ in range(2)]
    answer = client.get("/api/v1/flows/")
    assert (codes, answer.status_code, answer.json()["code"]) == ([200, 200], 429, "throttled")
    assert 0 < int(answer["Retry-After"]) <= 30


@pytest.mark.django_db
def test_writes_and_reads_have_limits_of_their_own(limits, sign_in, operator):
    client = sign_in(operator)
    for _ in range(3):
        client.get("/api/v1/flows/")
    assert client.post("/api/v1/flows/", {}, "application/json").status_code == 400


@pytest.mark.django_db
def test_another_person_is_not_limited(limits, client):
    first, second = make_user(), make_user()
    client.force_login(first)
    assert [client.get("/api/v1/flows/").status_code for _ in range(3)][-1] == 429
    client.force_login(second)
    assert client.get("/api/v1/flows/").status_code == 200


@pytest.mark.django_db
def test_zero_is_no_limit(limits, sign_in, viewer):
    limits.API_READS_PER_MIN = 0
    client = sign_in(viewer)
    assert {client.get("/api/v1/flows/").status_code for _ in range(5)} == {200}

import pytest

from console.frame.throttling import BUCKETS, Buckets
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

"""The metrics of a quorum."""

from datetime import timedelta

import pytest

from console.metrics.samples import quorum_samples
from console.quorum.models import ControllerSilence, QuorumStatus
from tests.console.making import NOW, make_cluster
from tests.console.quorum.making import make_history, make_log, make_status

pytestmark = pytest.mark.django_db


def samples():
    found = quorum_samples(lambda rows: rows, NOW)
    return {(known.name, labels): value for known, labels, value in found}


@pytest.fixture
def log():
    log = make_log(make_cluster("east"))
    make_status(log)
    return log


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({}, 1),
        ({"memory": {"unjudged": "Not judged yet."}}, 0),
        ({"failing_since": NOW}, 0),
        ({"succeeded_at": NOW - timedelta(hours=1)}, 0),
    ],
    ids=["judged", "a new leader", "not described", "old"],
)
@pytest.mark.usefixtures("log")
def test_a_quorum_says_whether_it_was_judged(fields, value):
    QuorumStatus.objects.update(**fields)
    assert samples()["crosslog_quorum_judged", ("east",)] == value


def test_the_time_without_a_controller_is_that_of_elections_and_silences(log):
    make_history(log)
    ControllerSilence.objects.create(
        log=log, from_offset=700, to_offset=701, from_at=NOW, to_at=NOW + timedelta(seconds=3)
    )
    # 2,900 and 400 ms before elections, and a silence of 3 s.
    assert samples()["crosslog_quorum_without_controller_seconds_total", ("east",)] == 6.3

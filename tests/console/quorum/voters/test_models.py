"""What the rows of elections say, also of those that were stored before they said it."""

from importlib import import_module

import pytest
from django.apps import apps

from console.quorum.models import Election
from tests.console.making import make_cluster
from tests.console.quorum.making import make_election, make_log

pytestmark = pytest.mark.django_db
MIGRATION = import_module("console.quorum.migrations.0004_tell_what_is_odd_about_elections")


def test_elections_that_are_stored_already_are_filled_in():
    log = make_log(make_cluster("east"), gaps=[{"from": 60, "to": 65}])
    make_election(log, 1, 9000, 1, epoch=5)
    make_election(log, 50, 8000, 2, epoch=8, gap_ms=2900)
    # Records are missing before it: who led the epochs between is not known.
    make_election(log, 70, 7000, 1, epoch=20, gap_ms=400)
    for number in range(5):
        make_election(log, 100 + number, 100 - number, 1 + number % 3, epoch=21 + number)
    MIGRATION.fill(apps, None)
    told = [(one.epoch, one.skipped_epochs, one.is_silence, one.is_in_storm)
            for one in Election.objects.filter(log=log)]  # fmt: skip
    assert told[:3] == [(5, 0, False, False), (8, 2, True, False), (20, 0, False, False)]
    assert told[3:] == [(21 + number, 0, False, True) for number in range(5)]

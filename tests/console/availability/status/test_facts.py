"""The answer in a word: what was wrong stays told, what is too old to be good is unknown."""

from datetime import timedelta

import pytest
from django.utils import timezone

from console.availability.status.facts import answer_of
from console.availability.status.models import Rollup
from console.frame.pages.freshness import Freshness


@pytest.mark.parametrize(
    ("age_s", "failing", "counts", "word"),
    [
        (1, False, Rollup(partitions=3), "All partitions writable"),
        (1, True, Rollup(partitions=3), "Unknown"),
        (600, False, Rollup(partitions=3), "Unknown"),
        (600, False, Rollup(partitions=3, offline=1), "Partitions offline"),
        (None, False, Rollup(partitions=3), "Unknown"),
    ],
    ids=["fresh", "the last round failed", "old", "old and bad", "never seen"],
)
def test_whether_every_partition_can_be_written(age_s, failing, counts, word):
    now = timezone.now()
    seen_at = None if age_s is None else now - timedelta(seconds=age_s)
    freshness = Freshness("Status", seen_at, now if failing else None, stale_after_s=60)
    assert answer_of(counts, freshness).word == word

"""What two rounds in a row saw counts; what one saw alone does not."""

import json

import pytest

from jobs.findings import Sightings

KEY, OTHER = ("silent", "2"), ("silent", "3")


def rounds(*seen, gap_ms=10):
    known = Sightings()
    for number, keys in enumerate(seen):
        told = Sightings.from_mapping(json.loads(json.dumps(known.to_mapping())))
        known = told.after(keys, number * gap_ms, 30)
    return known


@pytest.mark.parametrize(
    ("seen", "gap_ms", "is_agreed"),
    [
        ([[KEY]], 10, False),
        ([[KEY], [KEY]], 10, True),
        ([[KEY], [KEY], [KEY]], 10, True),
        ([[KEY], [], [KEY]], 10, False),
        ([[OTHER], [KEY]], 10, False),
        ([[KEY], [KEY]], 31, False),
        ([[KEY], [KEY]], -1, False),
    ],
    ids=[
        "once",
        "twice",
        "again",
        "not in a row",
        "another",
        "too far apart",
        "the clock went back",
    ],
)
def test_two_rounds_in_a_row_agree(seen, gap_ms, is_agreed):
    assert rounds(*seen, gap_ms=gap_ms).is_agreed(KEY) is is_agreed


def test_it_is_known_since_when_it_is_seen():
    assert rounds([], [KEY], [KEY], [KEY]).seen[KEY].first_ms == 10


def test_what_no_longer_holds_together_is_forgotten():
    known = rounds([KEY]).without({"silent"}).after([KEY], 10, 30)
    assert not known.is_agreed(KEY)

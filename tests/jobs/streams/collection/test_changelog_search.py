"""Which keys of a changelog are the key that is sought; searches of real topics are in tests/live."""

import struct

import pytest

from jobs.streams.collection.changelog_search import KeyForm, SoughtKey

START, END = 1_700_000_000_000, 1_700_000_060_000


def window(key, start=START, number=0):
    return key + struct.pack(">qi", start, number)


def session(key, end=END, start=START):
    return key + struct.pack(">qq", end, start)


@pytest.mark.parametrize(
    ("form", "key", "found", "is_it"),
    [
        (KeyForm.EXACT, b"user", b"user", True),
        (KeyForm.EXACT, b"user", window(b"user"), False),
        (KeyForm.EITHER, b"user", window(b"user"), True),
        (KeyForm.EITHER, b"user", window(b"user", 0, 7), True),
        (KeyForm.EITHER, b"user", session(b"user"), True),
        (KeyForm.EITHER, b"user", b"user", False),
        (KeyForm.EITHER, b"user", window(b"user1234"), False),
        (KeyForm.EITHER, b"user1234", session(b"user"), False),
        (KeyForm.EITHER, b"", window(b"user"), False),
        (KeyForm.EITHER, b"\0\0\0\1", window(b"\0\0\0\1"), True),
        (KeyForm.EITHER, b"use", window(b"user"), False),
        (KeyForm.ANY, b"user", b"user", True),
        (KeyForm.ANY, b"user", session(b"user"), True),
        (KeyForm.ANY, b"user", b"other", False),
    ],
)
def test_a_key_is_found_with_its_window_and_no_longer_key_is_taken_for_it(form, key, found, is_it):
    assert SoughtKey(key, 0, form).is_in(found) is is_it

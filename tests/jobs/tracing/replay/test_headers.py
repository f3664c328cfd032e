"""Headers of a replay: those of the failure are left out, those of the replay are added."""

import pytest

from jobs.tracing.replay.headers import Place, replay_headers

LETTER = Place("orders.DLT", 0, 5)
OWN = [
    ("crosslog-replay-count", b"2"),
    ("crosslog-replay-of", b"orders.DLT/0/5"),
    ("crosslog-replay-plan", b"p1"),
]


@pytest.mark.parametrize(
    "name",
    [
        "kafka_dlt-exception-fqcn",
        "retry_topic-attempts",
        "__streams.errors.exception",
        "__connect.errors.topic",
        "MT-Fault-Message",
        "springDeserializerExceptionValue",
    ],
)
def test_headers_of_failures_are_left_out_of_a_letter_and_stay_in_quarantine(name):
    given = [("id", b"7"), (name, b"x"), ("id", None)]
    sent = replay_headers(given, LETTER, "p1", 2, is_failed=False)
    assert sent == [("id", b"7"), ("id", None), *OWN]
    assert replay_headers(given, LETTER, "p1", 2, is_failed=True) == [*given, *OWN]


def test_headers_of_an_earlier_replay_are_replaced():
    again = replay_headers(OWN, Place("orders.DLT", 0, 9), "p2", 3, is_failed=False)
    assert again == [
        ("crosslog-replay-count", b"3"),
        ("crosslog-replay-of", b"orders.DLT/0/9"),
        ("crosslog-replay-plan", b"p2"),
    ]


def test_a_count_that_cannot_be_read_is_not_stated():
    found = replay_headers([], LETTER, "p1", None, is_failed=True)
    assert [name for name, _ in found] == ["crosslog-replay-of", "crosslog-replay-plan"]

"""Uuids as Kafka writes them."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.values import id_text, uuid_bytes, uuid_text
from tests.support import conformance_cases

# Kafka's own: bin/kafka-topics.sh --describe, and partition.metadata of the same topic.
KAFKAS = "_oQyWsMsQS-po8kSreACEQ"


def test_ids_are_in_the_alphabet_of_kafkas_tools():
    assert uuid_text(uuid_bytes(KAFKAS)) == KAFKAS


@pytest.mark.parametrize("case", conformance_cases("kraft_vectors", "uuid_text"))
def test_the_text_of_an_id_is_kafkas(case):
    assert uuid_text(bytes.fromhex(case["hex"])) == case["expected"]
    assert uuid_bytes(case["expected"]).hex() == case["hex"]


@given(st.binary(min_size=16, max_size=16))
def test_a_text_gives_its_bytes_back(content):
    assert uuid_bytes(uuid_text(content)) == content


@pytest.mark.parametrize("none", [None, UUID(int=0)])
def test_no_id_has_no_text(none):
    assert id_text(none) is None


@pytest.mark.parametrize("text", ["", "abc", KAFKAS[:-1]])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="no uuid as Kafka writes them"):
        uuid_bytes(text)

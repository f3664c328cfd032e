"""What a database keeps of an application is all of it."""

import zlib
from dataclasses import replace

import pytest

from jobs.streams.assembly import application_of
from jobs.streams.documents import application_mapping
from jobs.streams.stored import (
    OtherForm,
    fingerprint_of,
    pack_application,
    pack_facts,
    unpack_application,
    unpack_facts,
)
from tests.jobs.streams.test_answers import streams_group, streams_member
from tests.jobs.streams.written import observation, two_processes

SEEN = {
    "classic": observation(two_processes(next_ms=5), commits={("orders", 1): (7, "AgAA")}),
    "streams": observation(streams_group(
        streams_member("a", "p", None, (0,), (1,), replace(streams_member("b", "", None, ()).assignment))
    )),
    "no one": observation(streams_group()),
}  # fmt: skip


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN.keys())
def test_an_application_and_its_facts_come_back_as_they_were(seen):
    application = application_of(seen)
    back, facts = (
        unpack_application(pack_application(application)),
        unpack_facts(pack_facts(seen.facts)),
    )
    assert back == application
    assert facts == seen.facts
    assert application_mapping(back, facts) == application_mapping(application, seen.facts)


def test_the_fingerprint_is_the_same_until_somebody_joins_or_gets_another_task():
    seen = SEEN["classic"]
    application = application_of(seen)
    later = application_of(replace(seen, observed_at_ms=seen.observed_at_ms + 60_000))
    assert fingerprint_of(later) == fingerprint_of(application)
    other = application_of(observation(two_processes(second_endpoint="h9:9")))
    assert fingerprint_of(other) != fingerprint_of(application)
    joined = replace(application.threads[0], joins=(application.threads[0].joins or 0) + 1)
    further = replace(application.threads[0], offset_sums={})
    same = replace(application, threads=(further, *application.threads[1:]))
    assert fingerprint_of(same) == fingerprint_of(application), "how far copies are does not count"
    again = replace(application, threads=(joined, *application.threads[1:]))
    assert fingerprint_of(again) != fingerprint_of(application)


def test_what_another_version_stored_is_refused():
    with pytest.raises(OtherForm, match="form 99"):
        unpack_application(zlib.compress(b'{"form": 99}'))

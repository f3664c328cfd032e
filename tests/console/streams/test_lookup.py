"""Key lookups: the answer, the changelog beside it, and a trail without the key."""

import zlib

import pytest

from console.accounts.models import AuditEntry
from console.frame.errors import ActionRefused
from console.streams.lookup.answers import KeyQuestion, digest_of, look_up
from jobs.cluster.errors import InvalidFields, Unreachable
from jobs.streams.answers import PARTITIONER
from jobs.streams.collection.changelog_search import ChangelogHit, ChangelogSearch
from jobs.streams.keys import KeyFormat
from jobs.wire.batches.hashes import Partitioner
from tests.console.making import NOW, make_cluster
from tests.console.streams.making import CHANGELOG, SHOP, make_farm, make_streams, without_endpoint

pytestmark = pytest.mark.django_db
KEY = "customer-4711"


@pytest.fixture
def row():
    return make_streams(make_cluster("east"))


def hits(*partitions, value_bytes=8, unread=()):
    found = tuple(ChangelogHit(one, 7, 1000, KEY.encode(), value_bytes) for one in partitions)
    return ChangelogSearch(found, False, (0, 1, 2, 3), unread, 100, "the time was over")


def searching(answer, asked=None):
    def search(_connection, topic, sought, partitions, _budget_s):
        if asked is not None:
            asked.append((topic, sought.partition, partitions))
        if isinstance(answer, Exception):
            raise answer
        return answer

    return search


def test_a_lookup_names_the_instance_that_serves_the_key(row):
    found = look_up(row, KeyQuestion("totals", KEY))
    place = found.answer.active.process.place
    assert found.answer.partition in range(4)
    assert place == f"shop-{1 if found.answer.partition < 2 else 2}.example:8080"
    assert found.answer.jvm.is_right is True
    assert found.seen_at == NOW


def test_an_answer_that_the_application_gets_wrong_is_said_with_the_reason():
    row = make_streams(make_cluster("east"), without_endpoint())
    answers = [look_up(row, KeyQuestion("totals", str(n))).answer for n in range(40)]
    wrong = [one for one in answers if one.jvm.is_right is False]
    assert wrong
    assert all(one.jvm.reason for one in wrong)


def test_the_trail_has_a_keyed_hash_and_no_key(row):
    look_up(row, KeyQuestion("totals", KEY))
    entry = AuditEntry.objects.get(action="streams.key_lookup")
    assert (entry.subject, entry.cluster) == (SHOP, "east")
    assert entry.after["key_hmac_sha256"] == digest_of(KEY.encode())
    assert KEY not in str(entry.after)
    assert KEY.encode().hex() not in str(entry.after)


def test_the_hash_depends_on_the_secret(settings):
    before = digest_of(b"1")
    settings.SECRET_KEY = "another"
    assert digest_of(b"1") != before


@pytest.mark.parametrize(
    ("question", "field"),
    [
        (KeyQuestion("absent", KEY), "store"),
        (KeyQuestion("totals", "x", KeyFormat.INT32), "key"),
    ],
    ids=["store", "key"],
)
def test_what_is_wrong_is_said_at_its_field_and_not_written(row, question, field):
    with pytest.raises(InvalidFields) as wrong:
        look_up(row, question)
    assert list(wrong.value.errors) == [field]
    assert not AuditEntry.objects.exists()


def test_the_changelog_is_searched_at_the_expected_partition_first(row):
    asked = []
    expected = look_up(row, KeyQuestion("totals", KEY)).answer.partition
    question = KeyQuestion("totals", KEY, check_changelog=True)
    found = look_up(row, question, searching(hits(expected), asked)).changelog
    assert asked == [(CHANGELOG, expected, 4)]
    assert (found.is_as_expected, found.partitions) == (True, (expected,))


def test_a_changelog_that_agrees_leaves_no_doubt_about_the_partitioner(row):
    unsure = look_up(row, KeyQuestion("totals", KEY))
    question = KeyQuestion("totals", KEY, check_changelog=True)
    sure = look_up(row, question, searching(hits(unsure.answer.partition)))
    other = look_up(row, question, searching(hits((unsure.answer.partition + 1) % 4)))
    told = [PARTITIONER in one.cautions for one in (unsure, sure, other)]
    assert told == [True, False, True]


def test_a_key_in_another_partition_is_told(row):
    expected = look_up(row, KeyQuestion("totals", KEY)).answer.partition
    other = (expected + 1) % 4
    question = KeyQuestion("totals", KEY, check_changelog=True)
    found = look_up(row, question, searching(hits(other))).changelog
    assert found.is_as_expected is False
    assert f"in partition {other}, not in partition {expected}" in found.sentence


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (hits(), f"{CHANGELOG} does not have the key."),
        (hits(1, value_bytes=None), f"The last record of the key in {CHANGELOG} is a deletion."),
        (hits(unread=(3,)), "were not read (the time was over)"),
    ],
    ids=["absent", "deleted", "not all read"],
)
def test_a_key_that_was_not_found_is_told(row, answer, sentence):
    question = KeyQuestion("totals", KEY, check_changelog=True)
    found = look_up(row, question, searching(answer)).changelog
    assert sentence in found.sentence
    assert found.is_as_expected is None


@pytest.mark.parametrize(
    ("seen", "is_right", "is_expected"),
    [((), None, None), ((1,), False, True), ((3,), True, True), ((5,), False, False)],
    ids=["not there", "by the smaller topic", "by the larger topic", "by another partitioner"],
)
def test_the_changelog_decides_between_topics_of_different_size(seen, is_right, is_expected):
    """tests/conformance/reported/streams_topics_of_different_sizes: the application names partition 3."""
    asked, row = [], make_farm(make_cluster("east"))
    question = KeyQuestion("totals", "k2", check_changelog=True)
    found = look_up(row, question, searching(hits(*seen), asked))
    assert (found.answer.jvm.is_right, found.changelog.is_as_expected) == (is_right, is_expected)
    assert any("different partition counts" in one for one in found.cautions)
    assert asked == [("barn2-app-totals-changelog", 3, 6)]
    if seen:
        assert (found.answer.partition, str(found.answer.task)) == (seen[0], f"0_{seen[0]}")
    else:
        assert [one.partition for one in found.answer.possible] == [3, 1]


def test_a_cluster_that_does_not_answer_is_a_refusal(row):
    question = KeyQuestion("totals", KEY, check_changelog=True)
    with pytest.raises(ActionRefused, match="No broker answered"):
        look_up(row, question, searching(Unreachable("No broker answered.", cluster="east")))


def test_a_lookup_goes_by_the_partitioner_of_the_producers(row):
    found = look_up(row, KeyQuestion("totals", KEY, partitioner=Partitioner.CRC32))
    assert found.answer.partition == zlib.crc32(KEY.encode()) % 4
    entry = AuditEntry.objects.get(action="streams.key_lookup")
    assert entry.after["partitioner"] == "crc32"


def test_an_unknown_partitioner_is_said_at_its_field(row, sign_in, operator):
    client = sign_in(operator)
    asked = {"store": "totals", "key": KEY, "key_format": "utf-8", "partitioner": "sticky"}
    page = client.post(f"/streams/east/{SHOP}/key-lookup/", asked)
    assert "sticky is not one of the available choices" in page.content.decode()
    answer = client.post(
        f"/api/v1/streams/{SHOP}/key-lookup/", asked, content_type="application/json"
    )
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["partitioner"])

from jobs.replication.failover.read_syncs import SyncsOfTopic
from jobs.replication.sync_history import Why
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from jobs.wire.sync_links import FOLLOWS_HEADER
from tests.jobs.replication.failover.making import ORDERS


class Record:
    """A record as the client library gives it."""

    def __init__(self, offset, pair, follows=None) -> None:
        self._offset, self._follows = offset, follows
        self._pair = None if pair is None else encode_offset_sync(OffsetSync(*ORDERS, *pair))

    def offset(self):
        return self._offset

    def key(self):
        return b"garbage" if self._pair is None else self._pair[0]

    def value(self):
        return None if self._pair is None else self._pair[1]

    def headers(self):
        if self._follows is None:
            return None
        return [(FOLLOWS_HEADER, b"%d:%d" % self._follows)]


def translator_of(*records):
    found = SyncsOfTopic()
    for record in records:
        found.take(record)
    return found.translator


def test_syncs_that_name_their_predecessors_make_dense_stretches_exact():
    found = translator_of(Record(0, (0, 5)), Record(2, (100, 105), follows=(0, 5)))
    certificate = found.translate(ORDERS, 50)
    assert (certificate.lo, certificate.reason) == (55, Why.PERHAPS_NO_RECORD.text)


def test_nothing_is_concluded_over_a_place_where_syncs_are_missing():
    found = translator_of(Record(0, (0, 5)), Record(7, (100, 300)))
    assert found.translate(ORDERS, 50).lo <= 6
    assert found.translate(ORDERS, 50).hi is None or found.translate(ORDERS, 50).hi >= 300
    linked = translator_of(Record(0, (0, 5)), Record(7, (100, 300), follows=(60, 200)))
    assert linked.translate(ORDERS, 50).lo <= 6


def test_what_is_no_offset_sync_is_passed_by():
    found = translator_of(Record(0, None), Record(1, (10, 20)))
    assert found.translate(ORDERS, 10).exact

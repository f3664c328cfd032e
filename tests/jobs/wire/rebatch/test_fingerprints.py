"""Records as hashes: the compiled loop beside the plain one, and what changes a hash."""

import numpy as np
import pytest
from hypothesis import given

from jobs.wire.batches.record_batch import Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.errors import Damaged
from jobs.wire.rebatch import compiled as rebatch_compiled
from jobs.wire.rebatch.rebatcher import fingerprints
from tests.examples import examples
from tests.jobs.wire.batches.test_records import MALFORMED, with_body
from tests.jobs.wire.rebatch import plain as rebatch_plain
from tests.jobs.wire.strategies import dense, stretches

KERNELS = {"plain": rebatch_plain, "compiled": rebatch_compiled}
BOTH = pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)


@given(stretches())
@examples(100)
def test_both_loops_find_the_same_records(batches):
    wholes = [whole for _, whole in batches]
    plain, compiled = (fingerprints(wholes, one) for one in KERNELS.values())
    assert np.array_equal(plain, compiled)
    assert plain.offsets.tolist() == [one.offset for records, _ in batches for one in records]


@BOTH
@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_a_record_keeps_its_hash_in_any_batch(kernels, codec):
    records = [PlacedRecord(n, 1000 + n, b"k%d" % n, b"v" * n, ((b"h", None),)) for n in range(40)]
    alone = fingerprints([encode_batch([one]) for one in records], kernels)
    together = fingerprints([encode_batch(records, codec=codec)], kernels)
    assert np.array_equal(alone, together)
    assert len(set(together.hashes.tolist())) == 40


OTHERS = {
    "another key": PlacedRecord(5, 7, b"l", b"v"),
    "no key": PlacedRecord(5, 7, None, b"v"),
    "an empty key": PlacedRecord(5, 7, b"", b"v"),
    "another value": PlacedRecord(5, 7, b"k", b"w"),
    "a zero behind the value": PlacedRecord(5, 7, b"k", b"v\0"),
    "a header": PlacedRecord(5, 7, b"k", b"v", ((b"h", b""),)),
    "a byte that moved": PlacedRecord(5, 7, b"kv", b""),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_content_has_another_hash(other):
    first = fingerprints([encode_batch([PlacedRecord(5, 7, b"k", b"v")])])
    assert fingerprints([encode_batch([other])]).hashes[0] != first.hashes[0]


@BOTH
@pytest.mark.parametrize(("body", "count"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_records_are_refused(kernels, body, count):
    with pytest.raises(Damaged):
        fingerprints([dense(offset=0), with_body(body, count, Codec.NONE)], kernels)

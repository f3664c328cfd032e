"""The hashes by which Kafka's clients choose partitions."""

import pytest

from jobs.wire.batches.hashes import Partitioner, fnv1a, murmur2, partition_for_key
from tests.support import conformance_cases


@pytest.mark.parametrize("case", conformance_cases("streams_partitioning", "murmur2"))
def test_hash_and_partition_are_upstream_s(case):
    key, expected = bytes.fromhex(case["key_hex"]), case["expected"]
    assert murmur2(key) == expected["hash"]
    for partitions in (7, 12):
        wanted = expected.get(f"partition_of_{partitions}")
        assert wanted in (None, partition_for_key(key, partitions))


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"kafka", 0xD33C4E1), (b"giberish123456789", 0x77A58295), (b"1234", 0x23BDD03),
        (b"34", 0x740FA83E), (b"", 0x7EE3623B),
    ],
)  # fmt: skip
def test_fnv1a_is_that_of_librdkafka_without_its_sign(key, hashed):
    assert fnv1a(key) == hashed
    assert partition_for_key(key, 12, Partitioner.FNV1A) == hashed % 12


@pytest.mark.parametrize(
    ("key", "hashed"), [(b"123456789", 0xCBF43926), (b"a", 0xE8B7BE43), (b"", 0)]
)
def test_crc32_is_the_unsigned_checksum(key, hashed):
    assert partition_for_key(key, 7, Partitioner.CRC32) == hashed % 7

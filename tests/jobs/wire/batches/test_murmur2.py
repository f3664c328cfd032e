"""The hash by which Kafka's clients choose partitions."""

import pytest

from jobs.wire.batches.hashes import murmur2, partition_for_key
from tests.support import conformance_cases


@pytest.mark.parametrize("case", conformance_cases("streams_partitioning.json", "murmur2"))
def test_hash_and_partition_are_upstream_s(case):
    key, expected = bytes.fromhex(case["key_hex"]), case["expected"]
    assert murmur2(key) == expected["hash"]
    for partitions in (7, 12):
        wanted = expected.get(f"partition_of_{partitions}")
        assert wanted in (None, partition_for_key(key, partitions))

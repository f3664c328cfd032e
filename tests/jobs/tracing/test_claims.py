"""Where claim checks lead, and what has no counterpart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.tracing import claims

numbers = st.sets(st.integers(1, 30))


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), max_size=20), numbers, st.integers(0, 30))
def test_pointers_and_objects_are_compared_as_sets_are(pointers, objects, settled):
    listed = np.array(sorted(objects, key=lambda n: n * 7 % 31), np.int64)
    found = claims.compare(np.array(pointers, np.int64), listed, listed * 10, listed, settled)
    assert found.sizes.tolist() == [n * 10 if n in objects else -1 for n in pointers]
    wanted = {n for n in objects - set(pointers) if n < settled}
    assert set(listed[found.orphans].tolist()) == wanted


@pytest.mark.parametrize(
    ("uri", "wanted"),
    [
        pytest.param("s3://b/k/1", "b/k/1", id="s3"),
        pytest.param("S3A://b/k", "b/k", id="Hadoop"),
        pytest.param("s3://b/a%20b", "b/a b", id="URL encoding"),
        pytest.param("s3://b/k?versionId=7", None, id="a version of an object"),
        pytest.param("https://b/k", None, id="another scheme"),
        pytest.param("", None, id="empty"),
    ],
)
def test_a_uri_of_s3_is_a_bucket_and_a_key(uri, wanted):
    assert claims.object_path(uri) == wanted


@pytest.mark.parametrize("text", ["", "b/p", "s3://", "s3://b/../c", "s3://b//c", "https://b"])
def test_what_is_no_store_is_refused(text):
    with pytest.raises(ValueError, match="s3://bucket/prefix"):
        claims.store_path(text)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [("b/p", True), ("b/p/q", True), ("b/pq", False), ("b", False), ("c/p", False)],
)
def test_a_store_ends_at_a_slash(path, wanted):
    assert claims.is_within(path, ["b/p"]) is wanted

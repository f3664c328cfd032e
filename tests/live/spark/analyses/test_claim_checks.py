"""Claim checks of a real cluster, with an object store beside it."""

import pytest
from pyarrow import fs

from jobs.spark.analyses.tracing import claim_checks
from jobs.tracing.digests import digest
from tests.live.records import Record, write
from tests.live.spark.analyses.asking_events import ask_events
from tests.live.topics import new_topic


@pytest.fixture
def store(monkeypatch):
    """A store of S3 with two objects of this bucket, and one that no record points to."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("CROSSLOG_OBJECT_STORE_ENDPOINT", f"http://{host}:{port}")
        monkeypatch.setenv("CROSSLOG_OBJECT_STORES", "s3://claims/orders")
        files = fs.S3FileSystem(
            endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True
        )
        files.create_dir("claims")
        for name, size in (("orders/a", 3_000), ("orders/b", 1_000), ("orders/lost", 10)):
            with files.open_output_stream(f"claims/{name}") as out:
                out.write(b"x" * size)
        yield "s3://claims/orders"
    finally:
        server.stop()


def claim(uri):
    return Record(0, b"k", uri, [("__large.message.backed.value", b"\1")])


def test_pointers_are_compared_with_the_objects_of_the_store(spark, east, tmp_path, store):
    topic = new_topic(east)
    uris = [
        b"s3://claims/orders/a",
        b"s3://claims/orders/b",
        b"s3://claims/orders/gone",
        b"s3://x/y",
    ]
    inline = [Record(0, b"k", b"v" * 50, [("__large.message.backed.value", b"\0")])]
    write(east, topic, [*map(claim, uris), *inline, Record(0, b"k", b"v" * 5_000)])
    question = {"extractor": "large-message", "topics": topic, "large_bytes": 4_000}
    found = ask_events(spark, east, tmp_path, claim_checks.ANALYSIS, store=store, **question)
    names = ("records", "claims", "large", "objects", "not_checked", "dangling", "orphans")
    assert [found.facts[name] for name in names] == [6, 4, 1, 3, 1, 1, 0]
    (row,), (lost,) = found["topics"], found["dangling"]
    assert (row["object_p50"], row["object_max"], row["object_bytes"]) == (1_000, 3_000, 4_000)
    assert (row["largest"], row["largest_offset"], row["dangling"]) == (5_000, 5, 1)
    assert (lost["offset"], lost["uri"]) == (2, digest("s3://claims/orders/gone"))
    without = ask_events(spark, east, tmp_path, claim_checks.ANALYSIS, ids="shown", **question)
    assert (without.facts["dangling"], without.facts["orphans"]) == (None, None)
    assert without.facts["claims"] == 4

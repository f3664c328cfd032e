"""What claim checks of given records come to, beside the objects of a store."""

from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.tracing.claim_pointers import Claims, read_claims
from jobs.spark.analyses.tracing.object_store import Objects, allowed_store, list_objects
from jobs.tracing.digests import digest
from jobs.tracing.extractors.extractor import preset_extractor
from tests.jobs.spark.analyses.records.given_records import reader_of, record
from tests.jobs.spark.analyses.tracing.given_events import AT_MS, reduced

FLAG = b"__large.message.backed.value"


def claims_of(records, preset="large-message"):
    options = {
        "extractor": preset_extractor(preset).to_mapping(),
        "registry": None,
        "store": "b/p",
        "has_flag": preset == "large-message",
        "large_bytes": 100,
    }
    return Claims([reduced(read_claims, reader_of(records), options)])


def claim(offset, uri):
    return record(offset, b"k", uri, headers=((FLAG, b"\1"),))


def objects_of(*names, changed_ms=0):
    count = len(names)
    return Objects([f"b/p/{n}" for n in names], np.full(count, 7), np.full(count, changed_ms))


def test_pointers_without_object_and_objects_without_pointer_are_listed():
    claims = claims_of(
        [claim(0, b"s3://b/p/a"), claim(1, b"s3a://b/p/gone"), claim(2, b"s3://c/x")]
    )
    tables = claims.compare(objects_of("a", "lost"), is_shown=False, with_orphans=True)
    assert [row["offset"] for row in tables["dangling"]] == [1]
    assert [row["uri"] for row in tables["orphans"]] == [digest("s3://b/p/lost")]
    assert (claims.facts["not_checked"], claims.facts["orphan_bytes"]) == (1, 7)


@pytest.mark.parametrize("uri", [b"s3://b/p/a%20b", b"s3://b/p/a b"])
@pytest.mark.parametrize("name", ["a b", "a%20b"])
def test_a_key_is_found_with_and_without_url_encoding(uri, name):
    tables = claims_of([claim(0, uri)]).compare(objects_of(name), is_shown=True, with_orphans=True)
    assert (tables["dangling"], tables["orphans"]) == ([], [])


def test_a_pointer_of_another_scheme_is_not_checked_and_leaves_orphans_unknown():
    claims = claims_of([claim(0, b"https://b.s3.amazonaws.com/p/a"), claim(1, b"s3://c/x")])
    claims.compare(objects_of("a"), is_shown=True, with_orphans=False)
    assert (claims.facts["not_checked"], claims.facts["dangling"]) == (2, 0)
    assert claims.total("unclear") == 1


def test_an_object_that_was_just_written_is_no_orphan():
    tables = claims_of([]).compare(
        objects_of("new", changed_ms=AT_MS - 1_000), is_shown=True, with_orphans=True
    )
    assert tables["orphans"] == []


def test_without_a_listing_nothing_is_said_to_be_missing():
    claims = claims_of([claim(0, b"s3://b/p/a")])
    (topic,) = claims.compare(None, is_shown=False, with_orphans=False)["topics"]
    assert (topic["claims"], topic["dangling"], topic["object_max"]) == (1, None, None)
    assert (claims.facts["dangling"], claims.facts["orphans"]) == (None, None)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(claim(0, b"s3://b/p/a"), (1, 0, 0), id="a pointer"),
        pytest.param(claim(0, b""), (0, 1, 0), id="a flag without a URI"),
        pytest.param(claim(0, None), (0, 0, 0), id="a tombstone"),
        pytest.param(record(0, b"k", b"v" * 101), (0, 0, 1), id="large and inline"),
        pytest.param(record(0, b"k", b"v" * 100), (0, 0, 0), id="inline"),
    ],
)
def test_records_are_claim_checks_or_inline(given, wanted):
    claims = claims_of([given])
    assert tuple(claims.total(name) for name in ("claims", "without_uri", "large")) == wanted


def test_a_first_byte_says_whether_a_value_is_a_pointer():
    records = [record(0, None, b"\1s3://b/p/a"), record(1, None, b"\0" + b"v" * 200)]
    claims = claims_of(records, "large-message-byte")
    assert (claims.total("claims"), claims.total("large")) == (1, 1)


@pytest.mark.parametrize("text", ["s3://other/p", "s3://b/px", "s3://b", "file:///etc"])
def test_only_stores_that_the_installation_names_are_read(text):
    with pytest.raises(InvalidFields):
        allowed_store(text, {"CROSSLOG_OBJECT_STORES": "s3://b/p, s3://c"})


def test_a_store_below_one_that_is_named_may_be_read():
    assert (
        allowed_store("s3://b/p/orders/", {"CROSSLOG_OBJECT_STORES": "s3://c,s3://b/p"})
        == "b/p/orders"
    )


@pytest.fixture
def answering(monkeypatch):
    """Start a store that gives each request this status and content; returns its environment."""
    with ExitStack() as stack:

        def start(status, content):
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                monkeypatch.setenv(name, "test")
            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
            Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            endpoint = f"http://127.0.0.1:{server.server_port}"
            return {"CROSSLOG_OBJECT_STORE_ENDPOINT": endpoint}

        yield start


def test_a_store_without_objects_is_listed(answering):
    assert list_objects("b/p", answering(200, b"<ListBucketResult/>")).paths == []


@pytest.mark.parametrize(("status", "code"), [(403, "AccessDenied"), (404, "NoSuchBucket")])
def test_a_store_that_refuses_is_an_error(answering, status, code):
    content = f"<Error><Code>{code}</Code></Error>".encode()
    with pytest.raises(OSError, match="When listing objects"):
        list_objects("b/p", answering(status, content))


def test_a_store_that_does_not_answer_is_an_error_that_names_it():
    with pytest.raises(OSError, match="nothing"):
        list_objects("nothing/x", {"CROSSLOG_OBJECT_STORE_ENDPOINT": "http://127.0.0.1:1"})

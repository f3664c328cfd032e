"""What `crosslog follow-metadata` and `crosslog import-metadata` say and return."""

import asyncio
import contextlib
import json
import struct
import tarfile
import threading

import pytest

from jobs.cli import main
from tests.jobs.cluster.protocol.fake_broker import API_VERSIONS, FakeBroker
from tests.jobs.quorum.log.test_importer import ONE, TWO, node
from tests.jobs.quorum.metadata_logs import archived, batch, damaged


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("alias: east", "bootstrap_servers: At least one", id="half a connection"),
        pytest.param("[", "file:", id="no YAML"),
        pytest.param(None, "cannot be read", id="no file"),
    ],
)
def test_a_connection_that_is_wrong_is_named_at_its_field(tmp_path, capsys, text, says):
    path = tmp_path / "connection.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert main(["follow-metadata", str(path), "--into", str(tmp_path / "a")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_a_cluster_that_cannot_be_reached_is_told(tmp_path, capsys):
    path = tmp_path / "connection.yaml"
    path.write_text(
        "alias: east\nbootstrap_servers: b.invalid:9092\nsecurity_protocol: SSL\nssl_ca: env:CROSSLOG_SECRET_NO\n"
    )
    assert main(["follow-metadata", str(path), "--into", str(tmp_path / "a")]) == 2
    assert "ssl_ca" in capsys.readouterr().err


def test_a_cluster_that_can_never_be_followed_ends_the_command_with_exit_code_1(tmp_path, capsys):
    path = tmp_path / "connection.yaml"
    with old_broker() as port:
        path.write_text(f"alias: east\nbootstrap_servers: 127.0.0.1:{port}\n")
        assert main(["follow-metadata", str(path), "--into", str(tmp_path / "a")]) == 1
    told = capsys.readouterr().err
    assert "is older than Kafka 2.4" in told
    assert "copies whole batches from 2.7 on" in told


@contextlib.contextmanager
def old_broker():
    """A broker before Kafka 2.4 in a thread; gives its port."""
    stop, ready, ports = threading.Event(), threading.Event(), []

    async def serve():
        async with FakeBroker() as broker:
            broker.answers[API_VERSIONS] = struct.pack(">iihi", 10, 1, 35, 0)
            ports.append(broker.port)
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    try:
        yield ports[0]
    finally:
        stop.set()
        thread.join()


def imported(capsys, folder, *paths):
    """Import and return the exit code and the documents that were printed."""
    code = main(["import-metadata", *map(str, paths), "--into", str(folder), "--json"])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_folder_and_an_archive_come_into_one(tmp_path, capsys):
    late = node(tmp_path / "late", TWO)
    with tarfile.open(tmp_path / "late.tgz", "w:gz") as tar:
        tar.add(late, "node-2")
    code, told = imported(
        capsys, tmp_path / "a", node(tmp_path / "early", ONE), tmp_path / "late.tgz"
    )
    assert code == 0
    assert [one["next_offset"] for one in told] == [4, 6]
    assert archived(tmp_path / "a") == b"".join(ONE + TWO)
    assert not [path for path in (tmp_path / "a").iterdir() if path.is_dir()]


def test_what_could_not_be_taken_is_a_finding(tmp_path, capsys):
    source = node(tmp_path / "n", [*ONE, damaged(batch(4)), batch(5)])
    code, (told,) = imported(capsys, tmp_path / "a", source)
    assert (code, told["batches"], len(told["problems"])) == (1, 3, 1)
    (place,) = told["damaged"]
    assert (place["from_offset"], place["to_offset"], place["kind"]) == (4, 5, "wrong_crc")


def test_an_unfinished_end_is_told_and_no_finding(tmp_path, capsys):
    source = node(tmp_path / "n", [*ONE, batch(4)[:-3]])
    code, (told,) = imported(capsys, tmp_path / "a", source)
    assert (code, told["problems"]) == (0, [])
    assert "byte " in told["tail"]
    assert [one["kind"] for one in told["damaged"]] == ["truncated_tail"]


def test_a_path_without_a_log_is_bad_input(tmp_path, capsys):
    code, _ = imported(capsys, tmp_path / "a", tmp_path / "nothing.tar")
    assert code == 2


def test_without_json_a_person_reads_what_came(tmp_path, capsys):
    main(["import-metadata", str(node(tmp_path / "n", ONE)), "--into", str(tmp_path / "a")])
    assert "2 batches" in capsys.readouterr().out

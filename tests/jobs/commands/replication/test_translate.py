"""What `crosslog translate` says about a dump, and with which code it ends."""

import json

import numpy as np
import pytest

from jobs.cli import main
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive_manifest import Source
from jobs.replication.offset_syncs.archive_writer import Increment, SyncArchive
from jobs.replication.offset_syncs.sync_rows import SyncRows
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync

SYNCS = [(100, 200), (201, 301), (300, 500)]


def row(offset, key, value, partition=0) -> str:
    return json.dumps(
        {
            "partition": partition,
            "offset": offset,
            "timestamp": 1,
            "key_hex": None if key is None else key.hex(),
            "value_hex": None if value is None else value.hex(),
        }
    )


def rows(topic="orders", partition=0, syncs=SYNCS) -> list[str]:
    return [
        row(number, *encode_offset_sync(OffsetSync(topic, partition, *sync)))
        for number, sync in enumerate(syncs)
    ]


@pytest.fixture
def ask(tmp_path, capsys):
    """Ask about a dump of these lines; returns exit code, output and errors."""

    def ask(lines, offset=150, *more, topic="orders", partition=0):
        path = tmp_path / "syncs.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        question = ["--topic", topic, "--partition", str(partition), "--offset", str(offset)]
        code = main(["translate", "--syncs", str(path), *question, *more])
        return code, *capsys.readouterr()

    return ask


def test_the_answer_is_one_json_document(ask):
    code, out, err = ask(rows(), 150, "--target-has-no-gaps", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert {name: told[name] for name in ("lo", "hi", "exact", "mm2")} == {
        "lo": 250, "hi": 250, "exact": True, "mm2": 201,
    }  # fmt: skip
    assert told["reason"]
    assert told["evidence"][0] == {"upstream": 100, "downstream": 200}


@pytest.mark.parametrize(
    ("offset", "more", "says"),
    [
        pytest.param(150, ["--target-has-no-gaps"], "is offset 250 on the target", id="exact"),
        pytest.param(150, [], "is between 201 and 301 on the target", id="bounded"),
        pytest.param(400, [], "is at offset 501 on the target or later", id="after the last"),
        pytest.param(50, [], "MirrorMaker 2 says -1", id="too old for MirrorMaker"),
    ],
)
def test_a_person_reads_sentences(ask, offset, more, says):
    code, out, _ = ask(rows(), offset, *more)
    assert code == 0
    assert says in out


def test_the_order_is_that_of_the_log_not_of_the_file(ask):
    code, out, _ = ask(reversed(rows()), 150, "--json")
    assert (code, json.loads(out)["hi"]) == (0, 301)


def test_tombstones_and_foreign_records_are_counted_and_passed_by(ask):
    key, value = encode_offset_sync(OffsetSync("orders", 0, 1, 1))
    strange = [row(10, key, None), row(11, b"{}", b"{}"), row(12, key, value[:5])]
    code, out, err = ask([*rows(), *strange], 150, "--json")
    assert (code, json.loads(out)["lo"]) == (0, 201)
    assert err.count("passed by") == 2
    assert "passed by 2 records: bytes of something else" in err


@pytest.mark.parametrize(
    ("lines", "more", "says"),
    [
        pytest.param(["{"], {}, "line 1 is no record", id="no JSON"),
        pytest.param([*rows(), "[]"], {}, "line 4 is no record", id="another document"),
        pytest.param(['{"partition": 0}'], {}, "offset is missing", id="fields missing"),
        pytest.param([rows()[0].replace(": 0", ": []")], {}, "line 1 is no", id="strange values"),
        pytest.param(rows(), {"topic": "other"}, "no offset sync of other-0", id="unknown topic"),
        pytest.param(
            rows(), {"partition": 7}, "no offset sync of orders-7", id="unknown partition"
        ),
        pytest.param(rows(), {"offset": -1}, "0 or more", id="negative offset"),
        pytest.param([], {}, "no partition at all", id="empty"),
    ],
)
def test_bad_input_is_named_and_nothing_is_printed(ask, lines, more, says):
    code, out, err = ask(lines, **more)
    assert (code, out) == (2, "")
    assert says in err


@pytest.fixture
def ask_list(tmp_path, capsys):
    """Ask about a list of offsets; returns exit code, JSON documents and errors."""

    def ask(text, *more):
        syncs, offsets = tmp_path / "syncs.jsonl", tmp_path / "offsets"
        syncs.write_text("\n".join([*rows(), *rows("clicks", 1)]), encoding="utf-8")
        offsets.write_bytes(text if isinstance(text, bytes) else text.encode())
        question = ["--syncs", str(syncs), "--offsets", str(offsets), "--json", *more]
        code = main(["translate", *question])
        out, err = capsys.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    return ask


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("topic,partition,offset\norders,0,100\nclicks,1,201\n", id="CSV"),
        pytest.param(
            '{"topic": "orders", "partition": 0, "offset": 100}\n'
            '{"topic": "clicks", "partition": 1, "offset": 201}\n',
            id="JSON lines",
        ),
        pytest.param('{"orders": {"0": 100}, "clicks": {"1": 201}}', id="Spark's offsets"),
        pytest.param(
            'v1\n{"batchId": 1}\n{"orders":{"0":100},"clicks":{"1":201}}', id="checkpoint"
        ),
    ],
)
def test_a_list_of_offsets_gets_an_answer_each(ask_list, text):
    code, told, err = ask_list(text)
    assert (code, err) == (0, "")
    assert [(one["topic"], one["partition"], one["lo"]) for one in told] == [
        ("orders", 0, 200), ("clicks", 1, 301),
    ]  # fmt: skip


def test_a_line_that_is_no_offset_is_named_and_the_others_are_answered(ask_list):
    code, told, err = ask_list("orders,0,100\norders,0,many\norders,0,201\nother,0,5\n")
    assert code == 2
    assert [one.get("lo") for one in told] == [200, 301, None, None]
    assert told[2]["reason"] == "There is no offset sync of this partition."
    assert told[3]["line"] == 2
    assert "line 2: 'many' is no offset" in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(b"\xff\xfe\x00", "not UTF-8", id="no text"),
        pytest.param(b"x" * (17 << 20), "larger than", id="huge"),
        pytest.param(b"", "nothing in it", id="empty"),
    ],
)
def test_what_is_no_list_is_refused(ask_list, text, says):
    code, _, err = ask_list(text)
    assert code == 2
    assert says in err


def test_the_way_back_is_told_on_request(ask):
    code, out, _ = ask(rows(), 200, "--reverse", "--json")
    assert (code, json.loads(out)["lo"], json.loads(out)["mm2"]) == (0, 100, None)
    assert "is offset 100 on the source" in ask(rows(), 200, "--reverse")[1]


def test_an_archive_answers_instead_of_a_dump(tmp_path, capsys):
    columns = np.array([(0, *sync, 0) for sync in SYNCS]).T
    with SyncArchive(tmp_path) as archive:
        archive.append(
            Increment(
                Source("west", "t"),
                [TopicPartition("orders", 0)],
                SyncRows.without_links(*columns),
                3,
            )
        )
    question = ["--topic", "orders", "--partition", "0", "--offset", "150", "--json"]
    assert main(["translate", "--archive", str(tmp_path), *question]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["lo"], told["hi"], told["mm2"]) == (201, 301, 201)
    assert main(["translate", "--archive", str(tmp_path / "none"), *question]) == 2
    assert "no archive" in capsys.readouterr().err


def test_an_archive_answers_what_it_knew_at_a_time(tmp_path, capsys):
    content = SyncRows.without_links(*np.array([(0, *sync, 0) for sync in SYNCS]).T)
    content = content._replace(at_ms=np.array([1_000, 2_000, 3_000]))
    with SyncArchive(tmp_path) as archive:
        archive.append(Increment(Source("west", "t"), [TopicPartition("orders", 0)], content, 3))
    question = ["--topic", "orders", "--partition", "0", "--offset", "250", "--json"]
    then = ["--at", "1970-01-01T00:00:02Z"]
    assert main(["translate", "--archive", str(tmp_path), *question, *then]) == 0
    assert json.loads(capsys.readouterr().out)["hi"] is None
    dump = tmp_path / "syncs.jsonl"
    dump.write_text("\n".join(rows()), encoding="utf-8")
    assert main(["translate", "--syncs", str(dump), *question, *then]) == 2
    assert "--archive" in capsys.readouterr().err


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(["--topic", "orders"], id="half a question"),
        pytest.param(["--topic", "orders", "--offsets", "x"], id="two questions"),
    ],
)
def test_what_is_asked_must_be_clear(tmp_path, capsys, question):
    path = tmp_path / "syncs.jsonl"
    path.write_text("\n".join(rows()), encoding="utf-8")
    assert main(["translate", "--syncs", str(path), *question]) == 2
    assert "--offsets" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"\x00" * (3 << 20), b"\xff" * 5000, b"[" * (2 << 20)])
def test_garbage_is_refused_without_reading_all_of_it(tmp_path, capsys, content):
    path = tmp_path / "syncs.jsonl"
    path.write_bytes(content)
    question = ["--topic", "t", "--partition", "0", "--offset", "1"]
    assert main(["translate", "--syncs", str(path), *question]) == 2
    assert "it is no dump" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(capsys, tmp_path):
    path = tmp_path / "none.jsonl"
    question = ["--topic", "t", "--partition", "0", "--offset", "1"]
    assert main(["translate", "--syncs", str(path), *question]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        pytest.param(["--refine", "nowhere.yaml"], "nowhere.yaml", id="no flow file"),
        pytest.param(["--refine", "x.yaml", "--reverse"], "leave --reverse out", id="the way back"),
    ],
)
def test_records_are_compared_only_with_a_flow_and_for_the_way_there(ask, more, says):
    code, out, err = ask(rows(), 150, *more)
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.parametrize("name", ["nowhere", "."], ids=["missing", "a folder"])
def test_a_dump_that_cannot_be_read_is_a_sentence(tmp_path, name, capsys):
    path = str(tmp_path / name)
    asked = ["--topic", "t", "--partition", "0", "--offset", "1"]
    assert main(["translate", "--syncs", path, *asked]) == 2
    told = capsys.readouterr().err
    assert told.startswith(str(tmp_path))
    assert told.endswith(".\n")
    assert "Errno" not in told

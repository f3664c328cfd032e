"""What `crosslog translate` says about a dump, and with which code it ends."""

import json

import pytest

from jobs.cli import main
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
        pytest.param(50, [], "MirrorMaker 2 says nothing (-1)", id="too old for MirrorMaker"),
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
    assert err.count("passed by") == 3


@pytest.mark.parametrize(
    ("lines", "more", "says"),
    [
        pytest.param(["{"], {}, "line 1 is no record", id="no JSON"),
        pytest.param([*rows(), "[]"], {}, "line 4 is no record", id="another document"),
        pytest.param(['{"partition": 0}'], {}, "KeyError: 'offset'", id="fields missing"),
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


def test_a_file_that_is_not_there_is_named(capsys, tmp_path):
    path = tmp_path / "none.jsonl"
    question = ["--topic", "t", "--partition", "0", "--offset", "1"]
    assert main(["translate", "--syncs", str(path), *question]) == 2
    assert "No such file" in capsys.readouterr().err

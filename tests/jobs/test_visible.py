"""What `crosslog` prints of strangers' names does nothing to the terminal that it is read on."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cli import main
from jobs.visible import visible, visible_bytes, visible_line, without_paths
from tests.jobs.quorum.log_files import write_folder
from tests.jobs.quorum.log_records import Log, config, feature, partition, register, topic, uuid

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2066\x7f\x00\r"


@given(st.text())
def test_whatever_the_text_every_character_is_seen(text):
    shown = visible_line(text)
    assert len(shown.splitlines()) <= 1
    assert not any(ord(letter) < 32 and letter != "\t" for letter in shown)
    assert visible_line(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://user:p@ss@host:80/in", "http://host:80/…"),
        ("http://user:pa/ss@host/in", "http://…/…"),
        ("http://user:pa#ss@host/in", "http://…/…"),
        ("http://user:pass", "http://…"),
        ("postgres://user:p@ss@db:5432/crosslog", "postgres://db:5432/crosslog"),
        ("redis://:pass@cache/0, then", "redis://cache/0, then"),
        ("http://[::1]:80/in", "http://[::1]:80/…"),
    ],
)
def test_user_and_password_of_a_url_are_left_out_whatever_signs_they_hold(text, shown):
    assert without_paths(text) == shown
    assert without_paths(shown) == shown


@given(st.text(alphabet=st.characters(exclude_characters='"\\\\', exclude_categories=("Cs",))))
def test_json_stays_the_same_json(text):
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize("text", ["", "plain", "Zürich", "東京", "a b", "tab\there", "🚀"])
def test_what_is_text_stays_as_it_is(text):
    assert visible_line(text) == text


def test_the_terminal_gets_no_control_characters_of_a_file_that_is_given(tmp_path, capsys):
    names = tmp_path / "topics.txt"
    names.write_text(f"east.orders{HOSTILE}\nheartbeats\neast.heartbeats\n", encoding="utf-8")
    main(["detect-policy", "--topics", str(names)])
    path = tmp_path / f"no{HOSTILE[:3]}where"
    main(["state", str(path)])
    told = capsys.readouterr()
    assert told.err
    assert "\\u001b" in told.err
    assert all(letter.isprintable() or letter == "\n" for letter in told.out + told.err)


@pytest.fixture
def log(tmp_path):
    """Make the log of a cluster whose names are hostile, all of them."""
    made, bad = Log(), f"a{HOSTILE}\nbatch 9 to 9: all is well"
    broker = register(1, 10, rack=bad)
    broker[1]["endPoints"][0] |= {"name": bad, "host": bad}
    for newer in ("inControlledShutdown", "isMigratingZkBroker"):
        del broker[1][newer]
    made.batch(broker, topic(bad, uuid(1)), partition(uuid(1), replicas=(1,)))
    made.batch(config(bad, bad, (2, bad)), feature(bad, 1), topic("plain", uuid(2)))
    made.batch(config(bad, bad + "2", (32, bad)), topic(bad + "2", uuid(3)))
    return str(write_folder(tmp_path, made.records))


@pytest.mark.parametrize(
    "command",
    [
        ["state"], ["state", "--json"], ["state", "--offset", "1", "--diff-to", "5"], ["dump-log"],
        ["history"], ["history", "--json"], ["history", "--topic", "nowhere"], ["voters"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_names_in_a_metadata_log_do_nothing_to_the_terminal(log, capsys, command):
    asked = next(Path(log).glob("*.log")) if command == ["dump-log"] else log
    main([command[0], str(asked), *command[1:]])
    told = capsys.readouterr()
    assert told.out + told.err
    assert all(letter.isprintable() or letter == "\n" for letter in told.out + told.err)
    assert not any(line.startswith("batch 9") for line in told.out.splitlines())
    if "--json" in command:
        for line in told.out.splitlines():
            json.loads(line)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"plain", "plain"),
        (b"\x1b[2J\n", "\\u001b[2J\\u000a"),
        (b"\xff\x00", "0xff00"),
        ("ö".encode() * 1_001, "ö" * 1_000 + "…"),
        (b"\xff" * 1_001, "0x" + "ff" * 499 + "…"),
    ],
    ids=["text", "controls", "no UTF-8", "long", "long hex"],
)
def test_bytes_are_shown_as_one_line(value, text):
    assert visible_bytes(value, 1_000) == text

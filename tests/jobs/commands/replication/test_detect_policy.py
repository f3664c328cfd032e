"""What `crosslog detect-policy` prints, and with which code it ends."""

import json

import pytest

from jobs.cli import main


@pytest.fixture
def asked(tmp_path, capsys):
    """Run the command over a file with this content; return code, output and errors."""

    def asked(content: bytes, *options: str):
        path = tmp_path / "topics.txt"
        path.write_bytes(content)
        return main(["detect-policy", "--topics", str(path), *options]), *capsys.readouterr()

    return asked


def test_a_policy_is_told_with_its_evidence(asked):
    code, told, _ = asked(b"east.checkpoints.internal\neast.orders\n")
    assert code == 0
    assert "certain: default policy, {source}.{topic}, from east" in told
    assert "east.checkpoints.internal: groups of east are translated here" in told


def test_json_is_one_document(asked):
    code, told, _ = asked(b"east.checkpoints.internal\neast.orders\n", "--json")
    document = json.loads(told)
    assert (code, document["topics"]) == (0, 2)
    assert document["policies"][0]["sureness"] == "certain"


def test_names_that_tell_nothing_end_with_1(asked):
    assert asked(b"orders\n")[0] == 1


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xff\xfe\x00", id="no UTF-8"),
        pytest.param(b"two words\n", id="no names"),
        pytest.param(b"x\x00y\n", id="bytes"),
    ],
)
def test_what_is_no_list_of_names_ends_with_2(asked, content):
    code, told, errors = asked(content)
    assert (code, told) == (2, "")
    assert "topics.txt" in errors

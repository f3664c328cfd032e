import json

import pytest

from jobs.cli import main
from jobs.replication.failover.reports.forms import html_of, pdf_of
from jobs.replication.failover.reports.signing import kept_key
from tests.jobs.replication.failover.reports.test_report import report


@pytest.fixture
def files(tmp_path):
    key = kept_key(tmp_path / "home" / "report-key.pem")
    document = key.sign(report())
    named = {
        "report": json.dumps(document, indent=1).encode(),
        "key": key.public_pem.encode(),
        "other": kept_key(tmp_path / "other.pem").public_pem.encode(),
        "changed": json.dumps(document).replace('"ana"', '"eve"').encode(),
        "html": html_of(document).encode(),
        "pdf": pdf_of(document),
        "garbage": b"\xff\x00 garbage",
        "number": b"4711",
    }
    for name, content in named.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(["report", "--key", "key"], 0, "verified, signed by", id="our key"),
        pytest.param(["report"], 0, "the key that it names", id="its own key"),
        pytest.param(
            ["report", "--same", "html", "--same", "pdf"], 0, "verified", id="its renderings"
        ),
        pytest.param(["report", "--key", "other"], 1, "another key", id="somebody else's key"),
        pytest.param(["report", "--key", "html"], 1, "no public key", id="no key"),
        pytest.param(["changed", "--key", "key"], 1, "was changed", id="changed"),
        pytest.param(["report", "--same", "garbage"], 1, "garbage", id="another rendering"),
        pytest.param(["number"], 1, "no signed report", id="no report"),
        pytest.param(["garbage"], 2, "", id="no JSON"),
        pytest.param(["missing"], 2, "", id="no file"),
    ],
)
def test_reports_are_verified(files, capsys, arguments, code, says):
    told = [one if one.startswith("--") else str(files / one) for one in arguments]
    assert main(["verify-report", *told]) == code
    assert says in capsys.readouterr().out


def test_json_says_it_to_programs(files, capsys):
    assert (
        main(["verify-report", str(files / "report"), "--key", str(files / "key"), "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["verified"], told["key_was_given"], len(told["key_id"])) == (True, True, 16)

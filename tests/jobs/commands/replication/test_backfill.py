"""What `crosslog backfill` says about a flow that it cannot read."""

import pytest

from jobs.cli import main


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("name: f", "source: A mapping with alias", id="half a flow"),
        pytest.param("[", "flow.yaml: file:", id="no YAML"),
        pytest.param(None, "cannot be read", id="no file"),
    ],
)
def test_a_flow_file_that_is_wrong_is_named_at_its_field(tmp_path, capsys, text, says):
    path = tmp_path / "flow.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert main(["backfill", str(path), "--archive", str(tmp_path / "archive")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "archive").exists()

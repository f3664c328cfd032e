"""`crosslog state`: moments of which nothing can be known."""

import pytest

from jobs.cli import main


@pytest.mark.parametrize("given", [["--time"], ["--offset", "1", "--diff-to"]], ids=" ".join)
def test_a_time_in_the_future_is_refused(tmp_path, capsys, given):
    assert main(["state", str(tmp_path), *given, "2199-01-01T00:00:00Z"]) == 2
    assert "2199-01-01" in (told := capsys.readouterr().err)
    assert "is in the future" in told

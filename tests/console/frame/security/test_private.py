"""Whether other users can get at a home is said with what to do about it."""

import pytest

from console.frame.security.private import readable_by_others


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        pytest.param(0o700, False, id="for its user only"),
        pytest.param(0o750, True, id="the group may read"),
        pytest.param(0o755, True, id="everybody may read"),
        pytest.param(0o711, True, id="everybody may enter"),
    ],
)
def test_an_open_home_is_said(tmp_path, mode, said):
    tmp_path.chmod(mode)
    assert bool(list(readable_by_others(tmp_path))) is said


def test_the_advice_closes_the_home_and_what_is_open_in_it(tmp_path):
    tmp_path.chmod(0o755)
    for name, mode in (("crosslog.sqlite3", 0o644), ("secret-key", 0o600)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (sentence,) = readable_by_others(tmp_path)
    assert "0755" in sentence
    assert sentence.endswith(f"chmod go= {tmp_path} {tmp_path}/crosslog.sqlite3")

import base64

import pytest

from jobs.lab.storage import Identity, new_id, run_side_by_side


def test_an_id_is_a_uuid_in_kafkas_form():
    ids = [new_id() for _ in range(500)]
    assert all(len(base64.urlsafe_b64decode(text + "==")) == 16 for text in ids)
    assert not any(text.startswith("-") for text in ids)


def test_the_ids_of_a_cluster_stay_the_same(tmp_path):
    first = Identity.read_or_make(tmp_path / "east" / "cluster.json", [1, 2])
    assert Identity.read_or_make(tmp_path / "east" / "cluster.json", [1, 2]) == first


def test_the_first_error_of_steps_side_by_side_is_raised():
    with pytest.raises(ZeroDivisionError):
        run_side_by_side([lambda: None, lambda: 1 / 0])

"""The whole walk: every identity asks every address by every method, declared or not.

What a request may not do, it must not write either. `make test` walks a part of it.
"""

import pytest

from tests.console.safety.routes import METHODS
from tests.console.safety.walk import PEOPLE, walk

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("is_dark", [False, True], ids=["granted", "dark"])
@pytest.mark.parametrize("method", [*METHODS, "HEAD", "OPTIONS", "TRACE"])
def test_no_identity_does_more_than_its_rights(world, client, who, is_dark, method):
    assert walk(world, client, who, method, is_dark=is_dark, is_curious=True) == []

"""Fixtures of all tests: three people, and clients that are signed in as them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent
# How long an example takes says more about the machine than about the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
# Tests that share something which is there once stay together when workers share the tests: clusters and
# browsers need the machine, so one worker has all of them, and the others everything else, file by file.
TOGETHER = (
    ("live", "clusters and browsers"),
    ("browser", "clusters and browsers"),
    ("console/frame/test_up.py", "clusters and browsers"),
)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell pytest-xdist which tests share something (`--dist loadgroup`)."""
    for item in items:
        path = item.path.relative_to(ROOT).as_posix()
        group = next((name for start, name in TOGETHER if path.startswith(start)), path)
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture
def admin(db):
    return _person("ada", "admin")


@pytest.fixture
def operator(db):
    return _person("otto", "operator")


@pytest.fixture
def viewer(db):
    return _person("vera", "viewer")


@pytest.fixture
def sign_in(client):
    """Sign a person in and return the client; without a person the client stays anonymous."""

    def sign_in(person=None):
        if person is not None:
            client.force_login(person)
        return client

    return sign_in


def _person(name, role):
    from console.accounts.models import User

    return User.objects.create_user(name, password="a password of " + name, role=role)

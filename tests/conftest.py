"""Fixtures of all tests: three people, and clients that are signed in as them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

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


class _Together(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0].removeprefix("tests/")
        return next((name for start, name in TOGETHER if path.startswith(start)), path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Tell pytest-xdist which tests stay together: the largest group begins first."""
    return _Together(config, log)


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

"""Fixtures of all tests: three people, and clients that are signed in as them. How they run: the plugins."""

import pytest

pytest_plugins = (
    "tests.campaigns",
    "tests.compiled",
    "tests.database",
    "tests.examples",
    "tests.scheduling",
    "tests.skips",
    "tests.times",
)


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

"""The first administrator."""

import re
from io import StringIO

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command

from console.accounts.models import Role, User

pytestmark = pytest.mark.django_db


def ensure_admin() -> str:
    output = StringIO()
    call_command("ensure_admin", stdout=output)
    return output.getvalue()


def test_the_first_start_makes_an_admin_and_prints_a_password_that_works():
    password = re.search(r"password: (\S+)", ensure_admin())[1]
    user = authenticate(username="admin", password=password)
    assert user is not None
    assert user.role == Role.ADMIN


def test_the_second_start_makes_nobody_and_prints_nothing():
    ensure_admin()
    assert ensure_admin() == ""
    assert User.objects.count() == 1


def test_where_anybody_has_an_account_no_admin_is_made(viewer):
    assert ensure_admin() == ""
    assert list(User.objects.all()) == [viewer]


def test_every_password_is_another():
    first = re.search(r"password: (\S+)", ensure_admin())[1]
    User.objects.all().delete()
    assert first not in ensure_admin()


def test_a_person_without_a_role_is_a_viewer(db):
    assert User.objects.create_user("nina").role == Role.VIEWER

"""While somebody else holds the database, reads are answered and writes are told when to come again."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"
WHILE_LOCKED = f"""
import django, json, sqlite3, time
django.setup()
from django.conf import settings
settings.DATABASES["default"]["OPTIONS"]["timeout"] = 1
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
from datetime import timedelta
from django.utils import timezone
from console.accounts.models import ServiceToken, User
from console.accounts.tokens import new_secret
now = timezone.now()
person = User.objects.create_user("ada", password="{PASSWORD}", role="admin")
secret = new_secret()
ServiceToken.objects.create(
    name="t", owner=person, role="admin", prefix=secret.prefix, digest=secret.digest,
    created_at=now, expires_at=now + timedelta(days=1),
)
signed_in = Client(SERVER_NAME="localhost")
signed_in.force_login(person)
session = signed_in.session
session["used_at_s"] = session["began_at_s"] = int(time.time()) - 600
session.save()
import base64
basic = "Basic " + base64.b64encode(b"ada:{PASSWORD}").decode()
holder = sqlite3.connect(settings.DATABASES["default"]["NAME"], isolation_level=None)
holder.execute("BEGIN IMMEDIATE")
from django.db import connection
connection.close()

def ask(client, method, path, **more):
    client.raise_request_exception = False
    began = time.monotonic()
    answer = getattr(client, method)(path, **more)
    found = [answer.status_code, answer.headers.get("Retry-After"), time.monotonic() - began]
    return [*found, answer.content.decode(errors="replace")[:2000]]

stranger = Client(SERVER_NAME="localhost")
told = {{
    "token": ask(stranger, "get", "/api/v1/clusters/", headers={{"Authorization": "Bearer " + secret.text}}),
    "basic": ask(stranger, "get", "/api/v1/clusters/", headers={{"Authorization": basic}}),
    "page": ask(signed_in, "get", "/clusters/"),
    "readyz": ask(stranger, "get", "/readyz"),
    "sign-in": ask(stranger, "post", "/login/", data={{"username": "ada", "password": "{PASSWORD}"}}),
    "write": ask(stranger, "post", "/api/v1/tokens/", data=json.dumps({{"name": "x", "role": "viewer", "days": 1}}),
                 content_type="application/json", headers={{"Authorization": basic}}),
}}
holder.execute("ROLLBACK")
told["readyz afterwards"] = ask(stranger, "get", "/readyz")
told["page afterwards"] = ask(signed_in, "get", "/clusters/")
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory, put_database):
    """What a console answers whose database file is locked by another connection."""
    from django.conf import settings

    home = tmp_path_factory.mktemp("home")
    put_database(home / "console.sqlite3")
    environment = {
        **os.environ,
        "TEST_DATABASE_URL": f"sqlite:///{home / 'console.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "tests.settings",
    }
    told = subprocess.run(
        [sys.executable, "-c", WHILE_LOCKED],
        cwd=settings.ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


@pytest.mark.parametrize(
    "asked", ["token", "basic", "page", "readyz afterwards", "page afterwards"]
)
def test_a_read_is_answered(answers, asked):
    status, _, _, text = answers[asked]
    assert status == 200, text


@pytest.mark.parametrize("asked", ["readyz", "sign-in", "write"])
def test_what_has_to_write_is_told_when_to_come_again(answers, asked):
    status, retry_after, _, text = answers[asked]
    assert (status, retry_after) == (503, "10"), text
    assert "database" in text

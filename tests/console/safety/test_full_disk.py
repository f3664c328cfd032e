"""While the disk of the database is full: reads are answered, writes told so; it passes without a restart."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# No file can grow: what a full disk says, without filling one. SQLite calls it an error of the disk.
WHILE_FULL = """
import django, json, resource, time
django.setup()
from django.core.management import call_command
from django.db import connection
from django.test import Client
call_command("migrate", verbosity=0)
from console.accounts.models import ServiceToken, User
person = User.objects.create_user("ada", password="correct horse battery", role="admin")
browser = Client(SERVER_NAME="localhost", raise_request_exception=False)
browser.force_login(person)
token = json.dumps({"name": "x", "role": "viewer", "days": 1})

def ask():
    told = {path: browser.get(path) for path in ("/clusters/", "/api/v1/clusters/", "/readyz", "/healthz")}
    told["write"] = browser.post("/api/v1/tokens/", token, content_type="application/json")
    return {name: [answer.status_code, answer.headers.get("Retry-After")] for name, answer in told.items()}

with connection.cursor() as cursor:
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
full = ask()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
afterwards = ask()
with connection.cursor() as cursor:
    whole = cursor.execute("PRAGMA integrity_check").fetchone()[0]
print(json.dumps({"full": full, "afterwards": afterwards, "whole": whole, "tokens": ServiceToken.objects.count()}))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory, put_database):
    """What a console answers whose disk is full, and afterwards."""
    from django.conf import settings

    home = tmp_path_factory.mktemp("home")
    put_database(home / "console.sqlite3")
    environment = {
        **os.environ,
        "TEST_DATABASE_URL": f"sqlite:///{home / 'console.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "tests.settings",
    }
    run = subprocess.run(
        [sys.executable, "-c", WHILE_FULL],
        cwd=settings.ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("asked", ["/clusters/", "/api/v1/clusters/", "/healthz"])
def test_a_read_is_answered(told, asked):
    assert told["full"][asked][0] == 200


@pytest.mark.parametrize("asked", ["/readyz", "write"])
def test_what_has_to_write_is_told_when_to_come_again(told, asked):
    assert told["full"][asked] == [503, "10"]


def test_it_passes_without_a_restart_and_what_was_refused_is_not_there(told):
    assert {status for status, _ in told["afterwards"].values()} == {200, 201}
    assert (told["whole"], told["tokens"]) == ("ok", 1)

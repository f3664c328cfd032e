"""The program that makes a report gets no secret that it does not need."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.env import names_read
from console.reports.making.building import environment_of_maker

SECRETS = {
    "CROSSLOG_SECRET_EAST": "password of a cluster",
    "CROSSLOG_SPARK_SECRET": "secret of Spark",
    "CROSSLOG_TOKEN": "service token",
    "MAIL_PASSWORD": "password of the mail server",
    "MAIL_PASSWORD_FILE": "/run/secrets/mail",
    "METRICS_TOKEN": "token of Prometheus",
    "OIDC_CLIENT_SECRET": "secret of the client",
    "REPORT_KEY": "key of signatures",
    "REPORT_KEY_FILE": "/run/secrets/report-key",
    "WEBHOOK_KEY": "key of webhooks",
    "AWS_SECRET_ACCESS_KEY": "key of a store",
    "PGP_PASSPHRASE": "of no database",
    "VAULT_ADDR": "what is known to no setting",
}
NEEDED = {
    "CROSSLOG_HOME": "/home/crosslog",
    "CROSSLOG_URL": "https://crosslog.example",
    "DATABASE_URL": "postgresql://crosslog:password@db/crosslog",
    "DATABASE_URL_FILE": "/run/secrets/database",
    "PGPASSWORD": "password of the database",
    "PGSSLROOTCERT": "/etc/ssl/db.pem",
    "REDIS_URL": "rediss://:password@redis",
    "LAG_RETENTION_H": "168",
    "PATH": "/usr/bin",
    "PYTHONPATH": "/opt/crosslog",
    "LC_ALL": "C.UTF-8",
}


def test_it_gets_settings_and_the_secrets_of_database_and_redis_alone():
    passed = environment_of_maker({**SECRETS, **NEEDED, "SECRET_KEY": "key of the console"})
    key = passed.pop("SECRET_KEY")
    assert passed == NEEDED
    assert len(key) > 50


def test_every_setting_is_passed_unless_its_name_says_that_it_is_a_secret():
    given = dict.fromkeys(names_read(), "1")
    assert set(given) - set(environment_of_maker(given)) == {
        "API_READS_PER_MIN",
        "API_WRITES_PER_MIN",
        "CROSSLOG_SCHEMA_REGISTRIES",
        "MAIL_PASSWORD",
        "METRICS_TOKEN",
        "OIDC_CLIENT_SECRET",
        "REPORT_KEY",
        "TOKEN_DAYS",
        "WEBHOOK_KEY",
    }


# A key that is too short stops the start of what gets it.
MAKE_ONE = """
import json, os
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from datetime import timedelta
from django.utils import timezone
from console.accounts.models import User
from console.reports.making import building, store
from console.reports.models import ReportRun
os.environ["WEBHOOK_KEY"] = "short"
now = timezone.now()
person = User.objects.create(username="ada", role="admin")
run = ReportRun.objects.create(
    name="Audit", kind="audit-trail", period_start=now - timedelta(days=1), period_end=now, person=person,
    trigger="person", formats=["pdf"], created_at=now, for_admins=True,
)
building.make_due(now)
run.refresh_from_db()
kept = sorted(path.name for path in store.folder_of(run).parent.parent.iterdir())
print(json.dumps({"state": run.state, "error": run.error, "files": sorted(run.files), "kept": kept}))
"""


@pytest.mark.slow
def test_it_makes_a_report_with_what_it_gets(tmp_path, put_database):
    put_database(tmp_path / "crosslog.sqlite3")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "CROSSLOG_HOME": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "SECRET_KEY": "a key that only this environment holds",
    }
    root = Path(__file__).parents[4]
    script = [sys.executable, "-c", MAKE_ONE]
    ran = subprocess.run(
        script, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["state"], told["error"]) == ("ready", ""), ran.stderr
    assert told["files"] == ["csv", "html", "json", "pdf"]
    assert "secret-key" not in told["kept"]

"""crosslog does not start with settings that would let anybody in."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from console.frame.security.checks import (
    check_redis,
    is_loopback,
    listening_addresses,
    refuse_unsafe_settings,
)
from console.runs.checks import check_spark_secret
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
GOOD = "bY7w-4kZ_9qLxT2pV8mRjN5sHd3fGc6aEuQoWi1rKtXvBn0P"


def test_the_settings_of_the_first_start_are_safe():
    refuse_unsafe_settings()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"SECRET_KEY": "changeme"}, "E001", id="a default key"),
        pytest.param({"SECRET_KEY": "short-5kW9x"}, "E001", id="a short key"),
        pytest.param({"SECRET_KEY": "a" * 64}, "E001", id="a key of one letter"),
        pytest.param({"SECRET_KEY": f"django-insecure-{GOOD}"}, "E001", id="a key of a template"),
        pytest.param(
            {"DEBUG": True, "ALLOWED_HOSTS": ["crosslog.example.org"]}, "E002", id="debug"
        ),
        pytest.param({"DEBUG": True, "ALLOWED_HOSTS": ["10.0.0.7"]}, "E002", id="debug, address"),
        pytest.param({"ALLOWED_HOSTS": ["*"]}, "E003", id="every host"),
        pytest.param({"ALLOWED_HOSTS": ["localhost", "*"]}, "E003", id="every host among others"),
        pytest.param({"OUTBOUND_NETWORKS": ["10.0.0.0/99"]}, "E004", id="no network"),
        pytest.param({"OUTBOUND_SCHEMES": ["ftp"]}, "E005", id="no scheme of ours"),
        pytest.param(
            {"MAIL_TLS": "none", "EMAIL_HOST_PASSWORD": "x"}, "E006", id="mail without TLS"
        ),
        pytest.param({"OIDC_ISSUER": "https://login.example.org"}, "E010", id="half of a sign-in"),
        pytest.param(
            {"OIDC_ISSUER": "http://login.example.org", "OIDC_CLIENT_ID": "c"},
            "E011",
            id="in clear text",
        ),
        pytest.param(
            {
                "OIDC_ISSUER": "https://l.example",
                "OIDC_CLIENT_ID": "c",
                "OIDC_ROLES": ["a=emperor"],
            },
            "E012",
            id="a role that is none",
        ),
        pytest.param(
            {"OIDC_ISSUER": "https://l.example", "OIDC_CLIENT_ID": "c", "OIDC_SCOPES": "email"},
            "E013",
            id="no openid",
        ),
    ],
)
def test_unsafe_settings_stop_the_start(settings, changes, code):
    for name, value in changes.items():
        setattr(settings, name, value)
    with pytest.raises(ImproperlyConfigured, match=f"crosslog.{code}"):
        refuse_unsafe_settings()


def test_debug_on_this_machine_is_fine(settings):
    settings.DEBUG, settings.ALLOWED_HOSTS = True, ["localhost", "127.0.0.1", "[::1]"]
    refuse_unsafe_settings()


def test_debug_with_a_public_listener_is_refused(settings):
    settings.DEBUG, settings.ALLOWED_HOSTS = True, ["localhost"]
    with socket.create_server(("0.0.0.0", 0)):
        assert "0.0.0.0" in listening_addresses()
        with pytest.raises(ImproperlyConfigured, match="E002"):
            refuse_unsafe_settings()


@pytest.mark.parametrize(
    ("url", "is_warned"),
    [
        pytest.param("redis://redis.example.org:6379/0", True, id="elsewhere without a password"),
        pytest.param("rediss://10.0.0.7/0", True, id="with TLS, without a password"),
        pytest.param("redis://:p@10.0.0.6;redis://10.0.0.7", True, id="one of two without"),
        pytest.param("redis://:p@redis.example.org:6379/0", False, id="with a password"),
        pytest.param("rediss://r.example.org/0?ssl_certfile=c.pem", False, id="with a certificate"),
        pytest.param("redis://127.0.0.1:6379/0", False, id="this machine"),
        pytest.param("redis+socket:///run/redis.sock", False, id="a socket"),
    ],
)
def test_a_redis_that_others_can_reach_without_a_password_is_warned_of(settings, url, is_warned):
    settings.REDIS_URL = url
    assert [message.id for message in check_redis()] == ["crosslog.W002"] * is_warned
    refuse_unsafe_settings()


@pytest.mark.parametrize(
    ("master", "secret", "is_warned"),
    [
        pytest.param("spark://head:7077", "", True, id="a cluster without a secret"),
        pytest.param("spark://head:7077", "hunter2", True, id="the secret itself"),
        pytest.param("spark://head:7077", "env:CROSSLOG_SECRET_SPARK", False, id="a reference"),
        pytest.param("yarn", "", False, id="one that makes a secret for each run"),
        pytest.param("", "", False, id="this machine"),
    ],
)
def test_a_spark_cluster_without_its_secret_is_warned_of(monkeypatch, master, secret, is_warned):
    monkeypatch.setenv("CROSSLOG_SPARK_MASTER", master)
    monkeypatch.setenv("CROSSLOG_SPARK_SECRET", secret)
    monkeypatch.setenv("CROSSLOG_SECRET_SPARK", "shared")
    found = check_spark_secret()
    assert [message.id for message in found] == ["crosslog.W003"] * is_warned
    assert "hunter2" not in "".join(f"{message.msg}{message.hint}" for message in found)
    refuse_unsafe_settings()


@pytest.mark.parametrize(
    ("host", "is_here"),
    [("localhost", True), ("127.0.0.53", True), ("[::1]", True), ("0.0.0.0", False), ("", False),
     ("127.0.0.1.evil.org", False), (".localhost", True), ("localhost.evil.org", False)],
)  # fmt: skip
def test_what_is_this_machine(host, is_here):
    assert is_loopback(host) is is_here


@pytest.mark.parametrize(
    ("command", "environment", "said"),
    [
        pytest.param(
            ("gunicorn", "--bind", "127.0.0.1:29411", "console.wsgi:application"),
            {"SECRET_KEY": "changeme"},
            "crosslog.E001",
            id="the web server",
        ),
        pytest.param(
            ("gunicorn", "--bind", "0.0.0.0:29412", "console.wsgi:application"),
            {"DEBUG": "true"},
            "crosslog.E002",
            id="the web server in public with debug",
        ),
        pytest.param(
            (str(ROOT / "manage.py"), "up", "--port", "29413"),
            {"ALLOWED_HOSTS": "*"},
            "crosslog.E003",
            id="up",
        ),
        pytest.param(
            (str(ROOT / "manage.py"), "up", "--host", "0.0.0.0", "--port", "29415"),
            {"DEBUG": "true"},
            "DEBUG is on",
            id="up in public with debug",
        ),
    ],
)
def test_programs_end_and_say_why(tmp_path, command, environment, said):
    start = (
        [sys.executable, "-m", *command] if command[0] == "gunicorn" else [sys.executable, *command]
    )
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    ended = subprocess.run(
        start,
        env=inherited | {"CROSSLOG_HOME": str(tmp_path)} | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    assert ended.returncode != 0
    assert said in ended.stdout + ended.stderr

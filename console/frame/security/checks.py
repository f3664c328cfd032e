"""What must hold before crosslog starts: `manage.py up`, `check` and the web server refuse otherwise."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register, run_checks
from django.core.checks import Warning as Caution
from django.core.exceptions import ImproperlyConfigured

from jobs.cluster.network_addresses import is_loopback_host

TAG = "crosslog"
SHORTEST_KEY = 32
FEWEST_LETTERS = 8
# Keys that stand in examples somewhere: everybody knows them, however long they are.
_WORDS = (
    "changeme",
    "change-me",
    "django-insecure",
    "secret-key",
    "your-secret",
    "example",
    "insecure",
)
_TEST_SERVER = "testserver"


@register(TAG)
def check_secret_key(**_: Any) -> list[CheckMessage]:
    """A key that can be guessed lets everybody sign a session as anybody."""
    key = str(settings.SECRET_KEY)
    is_known = any(word in key.lower() for word in _WORDS)
    if not is_known and len(key) >= SHORTEST_KEY and len(set(key)) >= FEWEST_LETTERS:
        return []
    return [
        Error(
            "SECRET_KEY is a default or can be guessed.",
            hint=f"Leave it unset: crosslog then makes its own. Or give {SHORTEST_KEY} random letters.",
            id="crosslog.E001",
        )
    ]


@register(TAG)
def check_debug(**_: Any) -> list[CheckMessage]:
    """DEBUG shows settings and code to any client that provokes an error."""
    if not settings.DEBUG:
        return []
    public = [name for name in settings.ALLOWED_HOSTS if not is_loopback(name)]
    public += [address for address in listening_addresses() if not is_loopback(address)]
    if not public:
        return []
    return [
        Error(
            f"DEBUG is on and the console can be reached from elsewhere ({', '.join(public)}).",
            hint="Unset DEBUG, or keep ALLOWED_HOSTS and --host (--bind) to this machine.",
            id="crosslog.E002",
        )
    ]


@register(TAG)
def check_hosts(**_: Any) -> list[CheckMessage]:
    """With any name allowed, a page elsewhere can reach the console through a name of its own."""
    wild = [name for name in settings.ALLOWED_HOSTS if name.strip() in {"*", ".", "*.*"}]
    if not wild:
        return []
    return [
        Error(
            "ALLOWED_HOSTS allows every name.",
            hint="Name the hosts under which people reach the console, separated by commas.",
            id="crosslog.E003",
        )
    ]


@register(TAG)
def check_networks(**_: Any) -> list[CheckMessage]:
    """A network that cannot be read would only be noticed at the first call."""
    bad = [text for text in settings.OUTBOUND_NETWORKS if not _is_network(text)]
    schemes = [name for name in settings.OUTBOUND_SCHEMES if name not in {"http", "https"}]
    messages: list[CheckMessage] = []
    if bad:
        hint = "Like 10.20.0.0/16, separated by commas."
        text = f"OUTBOUND_NETWORKS has no networks: {bad}"
        messages.append(Error(text, hint=hint, id="crosslog.E004"))
    if schemes:
        text = f"OUTBOUND_SCHEMES knows http and https, not {schemes}"
        messages.append(Error(text, hint="Leave it unset for https.", id="crosslog.E005"))
    return messages


@register(TAG)
def check_mail(**_: Any) -> list[CheckMessage]:
    """A password in clear text on its way to the mail server."""
    if settings.MAIL_TLS != "none" or not settings.EMAIL_HOST_PASSWORD:
        return []
    return [
        Error(
            "MAIL_PASSWORD would be sent without TLS.",
            hint="Unset MAIL_TLS (STARTTLS) or set MAIL_TLS=tls; MAIL_CA names private certificates.",
            id="crosslog.E006",
        )
    ]


@register(TAG)
def check_tls(**_: Any) -> list[CheckMessage]:
    """Passwords and cookies in clear text, if others can listen."""
    public = [name for name in settings.ALLOWED_HOSTS if not is_loopback(name)]
    if settings.SECURE_COOKIES or not public:
        return []
    return [
        Caution(
            f"The console is reached by {', '.join(public)}, and SECURE_COOKIES is off.",
            hint="Put a proxy with TLS in front and set SECURE_COOKIES=true.",
            id="crosslog.W001",
        )
    ]


@register(TAG)
def check_redis(**_: Any) -> list[CheckMessage]:
    """Any client that reaches a Redis without a password can run every task of the workers."""
    # Celery takes several, separated by semicolons. A client's certificate does what a password does.
    found = [urlsplit(url) for url in str(settings.REDIS_URL).split(";")]
    hosts = [
        url.hostname
        for url in found
        if url.scheme in {"redis", "rediss"}
        and not url.password
        and "ssl_certfile" not in url.query
        and url.hostname
        and not is_loopback(url.hostname)
    ]
    if not hosts:
        return []
    return [
        Caution(
            f"The Redis on {', '.join(hosts)} is used without a password.",
            hint="Give it one (requirepass) and write REDIS_URL=rediss://:password@host:6379/0.",
            id="crosslog.W002",
        )
    ]


def refuse_unsafe_settings() -> None:
    """Raise `ImproperlyConfigured` with every error: for web servers that know no checks."""
    errors = [m for m in run_checks(tags=[TAG]) if m.is_serious() and not m.is_silenced()]
    if errors:
        lines = [f"{error.id}: {error.msg} {error.hint}" for error in errors]
        raise ImproperlyConfigured("crosslog does not start.\n" + "\n".join(lines))


def is_loopback(host: str) -> bool:
    """Say whether a name or an address is this machine only."""
    name = host.strip().strip("[]").lower()
    return name == _TEST_SERVER or is_loopback_host(name)


def listening_addresses() -> list[str]:
    """Return where this process listens already: a web server binds before it loads us. Linux only."""
    return sorted(set(_listening()))


def _listening() -> Iterator[str]:
    folder = Path("/proc/self/fd")
    for entry in folder.iterdir() if folder.is_dir() else ():
        try:
            with socket.socket(fileno=os.dup(int(entry.name))) as found:
                is_listening = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                if is_listening and found.family in {socket.AF_INET, socket.AF_INET6}:
                    yield str(found.getsockname()[0])
        except OSError:
            continue  # not a socket


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True

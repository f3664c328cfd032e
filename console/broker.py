"""How Redis is reached: the one that crosslog starts itself by a Unix socket, another one by REDIS_URL."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from django.core.exceptions import ImproperlyConfigured

SOCKET = "redis.sock"
# What Linux takes as the address of a Unix socket (sun_path, without the zero at its end).
LONGEST_ADDRESS = 107


def redis_folder(home: Path) -> Path:
    """Return the folder of our own Redis, made for this user only, also when it was made more open."""
    folder = home / "redis"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{folder} cannot be made for this user only ({error.strerror}): "
            "remove it, choose another home with CROSSLOG_HOME, or a Redis of your own with REDIS_URL."
        ) from None
    return folder


@cache
def redis_socket(home: Path) -> str:
    """Return the path of our own Redis's socket, never longer than a socket's address may be.

    Where the home's path is too long, this process keeps the folder open and names it by its descriptor.
    So every process of the home finds the socket, and there is no second, public place for it.
    """
    path = home / "redis" / SOCKET
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        return str(path)
    opened = os.open(redis_folder(home), os.O_RDONLY | os.O_DIRECTORY)
    return f"/proc/self/fd/{opened}/{SOCKET}"


def own_redis_url(home: Path) -> str:
    """Return where Celery finds the Redis that crosslog starts itself."""
    return f"redis+socket://{quote(redis_socket(home))}"


def celery_url(url: str) -> str:
    """Return a Redis URL as Celery writes it: it calls `unix:///path?db=1` of other clients differently."""
    if not url.startswith("unix://"):
        return url
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    account, password = parts.netloc.rpartition("@")[0], query.pop("password", "")
    if password:
        account = f"{account.partition(':')[0]}:{quote(password, safe='')}"
    if "db" in query:
        query["virtual_host"] = query.pop("db")
    asked = f"?{urlencode(query)}" if query else ""
    return f"redis+socket://{account}{'@' if account else ''}{parts.path}{asked}"


def is_listened_to(path: str) -> bool:
    """Return whether a living process listens at a Unix socket; one that does not answer counts as well."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            return True
    return True


def is_redis_there(url: str) -> bool:
    """Return whether something listens where Redis is wanted, in Celery's words; True if it cannot tell."""
    address = urlsplit(url)
    if address.scheme == "redis+socket":
        return is_listened_to(unquote(address.path))
    if address.scheme not in {"redis", "rediss"}:
        return True
    try:
        where = (address.hostname or "127.0.0.1", address.port or 6379)
        with socket.create_connection(where, timeout=1.0):
            return True
    except OSError:
        return False

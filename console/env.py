"""Settings come from the environment: read once, typed, and a malformed value stops the start.

Every reader has a twin `NAME_FILE`: a file that holds the value, for secrets that are mounted.
"""

from __future__ import annotations

import os
import secrets
import ssl
import tempfile
from email.utils import parseaddr
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from jobs.cluster.schemas.named import SchemaRegistry, parsed_registries

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


_names: set[str] = set()


def names_read() -> frozenset[str]:
    """Return the names of all settings that were read, without `_FILE`."""
    return frozenset(_names)


def env_str(name: str, default: str) -> str:
    """Return a text; an empty variable counts as unset."""
    _names.add(name)
    path = os.environ.get(f"{name}_FILE")
    if not path:
        return os.environ.get(name, "").strip() or default
    try:
        return Path(path).read_text(encoding="utf-8").strip() or default
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}_FILE={path} cannot be read: {error.strerror}."
        ) from None
    except UnicodeDecodeError as error:
        raise ImproperlyConfigured(
            f"{name}_FILE={path} cannot be read: byte {error.start} is not UTF-8."
        ) from None


def env_bool(name: str, *, default: bool) -> bool:
    """Return true or false."""
    value = env_str(name, "").lower()
    if not value:
        return default
    if value not in _TRUE | _FALSE:
        raise ImproperlyConfigured(f"{name}={value} is neither true nor false.")
    return value in _TRUE


def env_int(name: str, default: int, *, least: int = 0) -> int:
    """Return a whole number, not below `least`."""
    value = env_str(name, str(default))
    if not value.isdecimal() or int(value) < least:
        raise ImproperlyConfigured(f"{name}={value} is not a whole number from {least}.")
    return int(value)


def env_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """Return one of a few words, as it is written in `choices`, whatever its case."""
    value = env_str(name, default)
    for choice in choices:
        if value.lower() == choice.lower():
            return choice
    raise ImproperlyConfigured(f"{name}={value} is none of {', '.join(choices)}.")


def env_list(name: str, default: str = "") -> list[str]:
    """Return the parts of a text that commas separate."""
    return [part.strip() for part in env_str(name, default).split(",") if part.strip()]


def env_folder(name: str, default: Path) -> Path:
    """Return a folder of our own, made for this user only when it is not there."""
    value = env_str(name, str(default))
    try:
        folder = Path(value).expanduser().absolute()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except RuntimeError:
        raise ImproperlyConfigured(f"{name}={value} begins with a user without a home.") from None
    except (FileExistsError, NotADirectoryError):
        text = "there, or on the way, is a file or a link to itself: move it away, or name another"
        raise ImproperlyConfigured(f"{name}={folder} is no folder: {text}.") from None
    except OSError as error:
        raise ImproperlyConfigured(f"{name}={folder} cannot be made: {error.strerror}.") from None
    return folder


def env_url(name: str) -> str:
    """Return an address of a web server without a slash at its end; empty when it is unset."""
    value = env_str(name, "").rstrip("/")
    parts = urlsplit(value)
    if value and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.query):
        raise ImproperlyConfigured(f"{name}={value} is no address like https://host.example.org.")
    return value


def env_mailbox(name: str) -> str:
    """Return an e-mail address, maybe with a name before it in `<>`; empty when it is unset."""
    value = env_str(name, "")
    try:
        validate_email(parseaddr(value)[1] if value else "crosslog@example.org")
    except ValidationError:
        text = f"{name}={value} is no e-mail address like crosslog@example.org."
        raise ImproperlyConfigured(text) from None
    return value


def env_certificates(name: str) -> str:
    """Return the path of a PEM file with certificates that can be read; empty when it is unset."""
    value = env_str(name, "")
    try:
        if value:
            ssl.create_default_context(cafile=value)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror if not isinstance(error, ssl.SSLError) else "no certificate in it"
        raise ImproperlyConfigured(f"{name}={value} cannot be used: {why}.") from None
    return value


def env_registries(name: str) -> dict[str, SchemaRegistry]:
    """Return schema registries by name; no message has a password."""
    try:
        return parsed_registries(env_str(name, ""))
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from None


def env_absolute(name: str) -> str:
    """Return the absolute path of a folder that somebody else makes; empty when it is unset."""
    value = env_str(name, "")
    if value and not Path(value).is_absolute():
        raise ImproperlyConfigured(f"{name}={value} is no absolute path.")
    return value


def env_signing_key(name: str, least: int) -> str:
    """Return a secret of at least so many characters; empty when it is unset. It is in no message."""
    value = env_str(name, "")
    if value and len(value) < least:
        raise ImproperlyConfigured(f"{name} has fewer than {least} characters.")
    return value


def env_secret_key(name: str, path: Path) -> str:
    """Return the secret key of the environment, or the one at `path`, made at the first start."""
    try:
        return env_str(name, "") or _kept_key(path)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        text = (
            f"{name} cannot be kept in {path}: {why}. Give crosslog's user the right to, or set it."
        )
        raise ImproperlyConfigured(text) from None


def _kept_key(path: Path) -> str:
    """Read the key; web, worker and clock may start at once, and the first one's key must win."""
    if not path.exists():
        descriptor, draft = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            Path(draft).unlink()
    return path.read_text(encoding="utf-8").strip()

"""Schema registries that an administrator named in the environment: no user makes crosslog call an address.

CROSSLOG_SCHEMA_REGISTRIES=main=https://user:password@registry.example:8081, old=http://other:8081/path
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

VARIABLE = "CROSSLOG_SCHEMA_REGISTRIES"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry: its address has no user in it, and nothing shows the password; empty is no sign-in."""

    name: str
    url: str
    username: str = ""
    password: str = field(default="", repr=False)

    def to_mapping(self) -> dict[str, str]:
        """Return all fields, the password too: for the memory of a task, not for a file."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, str]) -> SchemaRegistry:
        """Return the registry of a `to_mapping`."""
        return cls(**values)


def registries_in(environ: Mapping[str, str] = os.environ) -> dict[str, SchemaRegistry]:
    """Return the registries of an environment by name, from the variable or the file of its `_FILE` twin.

    Raises ValueError as `parsed_registries` does, and for a file that cannot be read.
    """
    path = environ.get(f"{VARIABLE}_FILE")
    try:
        text = Path(path).read_text("utf-8") if path else environ.get(VARIABLE, "")
    except OSError as error:
        raise ValueError(f"{VARIABLE}_FILE={path} cannot be read: {error.strerror}.") from None
    return parsed_registries(text)


def parsed_registries(text: str) -> dict[str, SchemaRegistry]:
    """Return registries by name from `name=https://user:password@host:8081/path, ...`.

    Letters of user and password that have a meaning in addresses are percent-encoded. Raises ValueError with
    the name, or where there is none the place, of the wrong entry: never with its address.
    """
    found: dict[str, SchemaRegistry] = {}
    for place, entry in enumerate(filter(None, map(str.strip, text.split(","))), 1):
        name, _, address = (part.strip() for part in entry.partition("="))
        if not _NAME.fullmatch(name):
            wanted = "name=https://host:8081, a comma in a password as %2C"
            raise ValueError(f"{VARIABLE}: entry {place} does not begin with a name: {wanted}.")
        if name in found:
            raise ValueError(f"{VARIABLE}: {name} is there twice.")
        found[name] = _registry(name, address)
    return found


def _registry(name: str, address: str) -> SchemaRegistry:
    text = f"{VARIABLE}: the address of {name} is not one like https://host:8081."
    try:
        parts = urlsplit(address)
        is_right = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        raise ValueError(text) from None
    if not is_right or parts.query or parts.fragment:
        raise ValueError(text)
    url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    return SchemaRegistry(name, url, unquote(parts.username or ""), unquote(parts.password or ""))

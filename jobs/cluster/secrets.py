"""References to secrets: where a secret is, never what it is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jobs.cluster.errors import InvalidFields

# Only variables with this prefix and only files below one folder can be referred to, so that a
# person who may edit a cluster cannot send any other variable or file to a host of their choice.
ENV_PREFIX = "CROSSLOG_SECRET_"
_ENV_NAME = re.compile(rf"{ENV_PREFIX}[A-Z0-9_]{{1,80}}")


def secrets_folder() -> Path:
    """Return the folder below which secret files may stand (`CROSSLOG_SECRETS_DIR`)."""
    return Path(os.environ.get("CROSSLOG_SECRETS_DIR", "/run/secrets"))


@dataclass(frozen=True, slots=True)
class SecretRef:
    """A reference `env:CROSSLOG_SECRET_NAME` or `file:NAME` (relative to the secrets folder)."""

    source: Literal["env", "file"]
    name: str

    @classmethod
    def parse(cls, text: str) -> SecretRef:
        """Read a reference; raises `InvalidFields` (field `secret`) for anything else."""
        source, _, name = text.strip().partition(":")
        if source == "env" and _ENV_NAME.fullmatch(name):
            return cls("env", name)
        if source == "file" and name and _is_plain_relative(name):
            return cls("file", name)
        raise InvalidFields({"secret": _WANTED})

    def resolve(self) -> str:
        """Return the secret; raises `LookupError` with a sentence that names the reference only."""
        try:
            return self._from_variable() if self.source == "env" else self._from_file()
        except UnicodeError:
            raise LookupError(f"{_KINDS[self.source]} {self.name} is not UTF-8 text") from None

    def _from_variable(self) -> str:
        value = os.environ.get(self.name)
        if value is None:
            raise LookupError(f"environment variable {self.name} is not set")
        value.encode()
        return value

    def _from_file(self) -> str:
        try:
            path = Path(os.path.realpath(secrets_folder() / self.name))
            if not path.is_relative_to(os.path.realpath(secrets_folder())):
                raise LookupError(f"secret file {self.name} leads out of the secrets folder")
            return path.read_text(encoding="utf-8").rstrip("\n")
        except OSError as error:
            raise LookupError(f"secret file {self.name} cannot be read: {error.strerror}") from None

    def __str__(self) -> str:
        return f"{self.source}:{self.name}"


_KINDS = {"env": "environment variable", "file": "secret file"}
_WANTED = (
    f"A secret is a reference: env:{ENV_PREFIX}NAME for an environment variable, or file:NAME for a "
    "file below CROSSLOG_SECRETS_DIR. The secret itself is never stored."
)


def _is_plain_relative(name: str) -> bool:
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts and "\x00" not in name

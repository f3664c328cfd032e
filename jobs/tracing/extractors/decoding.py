"""Values that a schema registry describes, for extractors."""

from __future__ import annotations

from typing import Any

from jobs.cluster.errors import InvalidFields
from jobs.cluster.schemas.decoder import SchemaDecoder
from jobs.cluster.schemas.errors import SchemaFault
from jobs.cluster.schemas.named import VARIABLE, registries_in
from jobs.tracing.extractors.forms import BadValue
from jobs.tracing.extractors.plain import Decode


def check_registry(name: str) -> None:
    """Raise InvalidFields unless the environment names the registry; an empty name is none."""
    if name and name not in registries_in():
        known = ", ".join(registries_in()) or "none"
        text = f"There is no schema registry {name[:60]}. {VARIABLE} names {known}."
        raise InvalidFields({"registry": text})


def decode_by(registry: str) -> Decode | None:
    """Return what decodes bytes by the schemas of a registry, None without one; raises InvalidFields.

    Its password is read from the environment of this process: it is in no file of a run.
    """
    check_registry(registry)
    if not registry:
        return None
    decoder = SchemaDecoder(registries_in()[registry])

    def decode(content: bytes) -> Any:
        try:
            return decoder.decode(content)
        except SchemaFault as fault:
            raise BadValue(str(fault)) from None

    return decode

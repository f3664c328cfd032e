"""Secrets in configurations: known by name and by look, taken out before anything else sees them. Pure."""

from __future__ import annotations

import re

REDACTED = "(secret)"
# A value that is nothing but a reference is no secret: `${provider:path:key}` says where it is.
_REFERENCE = re.compile(r"\$\{[^${}:\s]+:[^${}]*\}")
_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|secret|jaas|credential|token|private[._-]?key|api[._-]?key"
    r"|access[._-]?key|ssl\.keystore\.key|ssl\.key\b|assertion|basic\.auth\.user\.info|encryption[._-]?key",
    re.IGNORECASE,
)
# Names of what surrounds a secret, and not the secret.
_HARMLESS_NAME = re.compile(
    r"\.(class|url|uri|location|type|ms|seconds|enabled?|algorithm|header\.urlencode|path)$",
    re.IGNORECASE,
)
_SECRET_LOOK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|LoginModule\b|\b(password|passwd|secret|token)\s*=",
    re.IGNORECASE,
)
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
# Nothing is given back (`+`), and an option begins where a word begins: each letter is read once.
_JAAS = re.compile(
    r"""\s*+(?P<module>[\w.$]++)\s++(?P<flag>\w++)"""
    r"""(?P<options>(?:\s++[\w.\-]++\s*+=\s*+(?:"[^"]*+"|[^\s;"]++))*+)\s*+;?\s*+"""
)
_OPTION = re.compile(r"""(?<![\w.\-])([\w.\-]++)\s*+=\s*+("[^"]*+"|[^\s;"]++)""")
_SHOWN_OPTIONS = frozenset(
    {
        "username",
        "serviceName",
        "principal",
        "useKeyTab",
        "storeKey",
        "useTicketCache",
        "keyTab",
        "debug",
    }
)


def is_secret_name(key: str) -> bool:
    """Return whether a setting of this name holds a secret."""
    return _SECRET_NAME.search(key) is not None and not (
        _HARMLESS_NAME.search(key) and "jaas" not in key.lower()
    )


def is_reference(value: str) -> bool:
    """Return whether a value only says where a secret is, as Kafka's config providers do."""
    return _REFERENCE.fullmatch(value.strip()) is not None


def has_reference(value: str) -> bool:
    """Return whether a config provider fills in a part of a value, or all of it."""
    return _REFERENCE.search(value) is not None


def providers_in(value: str) -> list[str]:
    """Return the config providers that a value refers to."""
    return [reference[2:].partition(":")[0] for reference in _REFERENCE.findall(value)]


def redact(key: str, value: str) -> tuple[str, bool]:
    """Return what may be shown of a value, and whether something was taken out.

    References stay as they are; of a JAAS configuration the user name stays.
    """
    if not value or is_reference(value):
        return value, False
    if is_secret_name(key) or _SECRET_LOOK.search(value):
        return _redact_jaas(value)
    shown = _USER_INFO.sub(f"{REDACTED}@", value)
    return shown, shown != value


def jaas_option(value: str, name: str) -> str:
    """Return an option of a JAAS configuration; "" when there is none."""
    found = {option: text.strip('"') for option, text in _OPTION.findall(value)}
    return str(found.get(name, ""))


def _redact_jaas(value: str) -> tuple[str, bool]:
    match = _JAAS.fullmatch(value)
    if match is None or not match["module"].endswith("LoginModule"):
        return REDACTED, True
    parts, changed = [f"{match['module']} {match['flag']}"], False
    for name, text in _OPTION.findall(match["options"]):
        shown = name in _SHOWN_OPTIONS or is_reference(text.strip('"'))
        parts.append(f"{name}={text}" if shown else f'{name}="{REDACTED}"')
        changed |= not shown
    return (" ".join(parts) + ";", True) if changed else (value, False)

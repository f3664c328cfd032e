"""What others say, before anybody sees or stores it: without our secrets, on one line, and short.

A broker knows the password that it was given, and may repeat it in a refusal, as it is or encoded. Every
secret that this process has resolved is therefore cut out of every message of a fault. The path and the query
of a URL may be a secret, too: of every URL only scheme, host and port are shown.
"""

from __future__ import annotations

import base64
import html
import json
import re
import threading
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote

from jobs.visible import without_paths

CUT = "(secret)"
MOST_CHARACTERS = 200
# Shorter ones are cut out as they are; encoded they would be found by accident.
_SHORTEST_ENCODED = 6
_SHORTEST = 2
# Of base64 a text inside another one changes up to four letters at its ends.
_SHORTEST_CORE = 6

_lock = threading.Lock()
_needles: dict[str, re.Pattern[str]] = {}


def register_secret(secret: str) -> None:
    """Cut this secret out of whatever is said from now on, in this process."""
    for part in {secret, *secret.splitlines()}:
        if len(part) >= _SHORTEST and part not in _needles:
            with _lock:
                _needles[part] = _needle(part)


def redact_secrets(text: str) -> str:
    """Return a text without secrets known here, paths of URLs, and characters that are no text."""
    for needle in list(_needles.values()):
        text = needle.sub(CUT, text)
    text = without_paths(text)
    return "".join(" " if _is_unwanted(letter) else letter for letter in text)


def cut_out(text: str, secrets: Iterable[str]) -> str:
    """Return a text without these secrets, in any form, where they are secrets of this text only."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = _needle(secret).sub(CUT, text)
    return text


def shortened(text: str) -> str:
    """Return what somebody else said as it may stand in a sentence of ours."""
    clean = " ".join(redact_secrets(text).split())
    return clean if len(clean) <= MOST_CHARACTERS else f"{clean[: MOST_CHARACTERS - 3]}..."


def _is_unwanted(letter: str) -> bool:
    # Control characters, marks that turn the direction of text, halves of surrogate pairs, line ends.
    return unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _needle(secret: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, _forms(secret))), re.IGNORECASE)


def _forms(secret: str) -> list[str]:
    """Return a secret in the forms in which it may come back, longest first."""
    found = {secret}
    if len(secret) >= _SHORTEST_ENCODED:
        raw = secret.encode("utf-8", "surrogatepass")
        found |= {quote(secret, safe=""), quote(secret), html.escape(secret)}
        found |= {json.dumps(secret)[1:-1], secret.encode("unicode_escape").decode(), raw.hex()}
        found |= {secret[::-1]}
        for before in range(3):
            found |= _base64_cores(b"\0" * before + raw, before)
    return sorted(found, key=len, reverse=True)


def _base64_cores(content: bytes, before: int) -> set[str]:
    """Return what base64 makes of the bytes from `before` on, wherever they stand in a longer text."""
    text = base64.b64encode(content).decode().rstrip("=")
    # Letters that hold bits of a neighbour are left out: 8 bits of each byte before, 6 of each letter.
    start = -(-8 * before // 6)
    core = text[start : 8 * len(content) // 6]
    return {core, core.translate(_URL_SAFE)} if len(core) >= _SHORTEST_CORE else set()


_URL_SAFE = str.maketrans("+/", "-_")

"""Values as cells of CSV files that are safe to open in a spreadsheet."""

from __future__ import annotations

from datetime import datetime
from typing import Any

# A cell that begins like this is run as a formula by spreadsheets (OWASP, CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\N{FULLWIDTH EQUALS SIGN}")


def neutral(value: Any) -> str:
    """Return a value as CSV text that no spreadsheet takes for a formula; numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    text = str(value)
    return (
        f"'{text}"
        if text.startswith(_FORMULA_STARTS) or text.lstrip().startswith(_FORMULA_STARTS)
        else text
    )

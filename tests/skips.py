"""Which tests a run left out: their number by reason, at its end."""

from collections import Counter
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line per reason, the most frequent first; nothing where no test was skipped."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(
        " ".join(one.longrepr[2].removeprefix("Skipped: ").split()) for one in reports
    )
    if not reasons:
        return
    terminalreporter.write_sep("=", "skipped tests by reason")
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"{number:8,}  {reason}")
    terminalreporter.write_line(f"{len(reports):8,}  skipped in all")

"""How many examples Hypothesis tries: a third of what a property names, many times as many in a campaign.

The profile is loaded before the first module that has properties: what has none does not wait for Hypothesis.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hypothesis import settings

# The name of what the numbers are multiplied by.
FACTOR = "CROSSLOG_EXAMPLES"
_USUAL, _FEWEST = 100, 8


def examples(count: int) -> settings:
    """Decorate a property that needs another number of examples than the usual 100."""
    from hypothesis import settings

    return settings(max_examples=max(_FEWEST, round(count * float(os.environ.get(FACTOR, "0.33")))))


def pytest_pycollect_makemodule(module_path: Path) -> None:
    """Load the profile before a module with properties is imported."""
    if b"hypothesis" in module_path.read_bytes():
        from hypothesis import HealthCheck, settings

        # How long an example takes says more about the machine than about the code.
        slow = [HealthCheck.too_slow]
        settings.register_profile("here", deadline=None, suppress_health_check=slow)
        settings.load_profile("here")
        settings.register_profile("here", examples(_USUAL))
        settings.load_profile("here")

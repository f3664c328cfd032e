"""What a metric is: its name, its labels and its meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """A gauge, or a counter when its name ends in `_total`; else a name ends with its unit, if it has one.

    An unknown value is an absent sample.
    """

    name: str
    labels: tuple[str, ...]
    help: str

    @property
    def is_counter(self) -> bool:
        """Whether it only grows."""
        return self.name.endswith("_total")

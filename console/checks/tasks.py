"""Rounds of all checks."""

from __future__ import annotations

from console.checks.round import due_checks, run_checks
from console.frame.rounds import KINDS, Kind

KINDS["checks"] = Kind(due_checks, run_checks)

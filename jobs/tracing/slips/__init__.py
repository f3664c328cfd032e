"""Slips: pieces of work that records carry from step to step, and what became of each.

In reading order: `states`, `verdicts`, `events`, `dwell`.
"""

"""Commands about losses and placements.

In reading order: `what_if`, `design`.
"""

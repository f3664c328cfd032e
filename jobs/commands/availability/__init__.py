"""Commands about losses and placements.

In reading order: `arguments`, `what_if`, `design`.
"""

"""What `slips` reads and how its rows are made.

In reading order: `plan`, `events`, `rows`.
"""

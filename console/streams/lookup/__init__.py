"""Key lookup: who serves a key of a store, and what the application itself would answer.

In reading order: `answers`, `pages`.
"""

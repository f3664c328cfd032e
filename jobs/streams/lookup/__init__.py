"""Where a key may be, and whether what the application itself answers for it is right.

In reading order: `candidates`, `own_answer`.
"""

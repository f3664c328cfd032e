"""What each area of checks reads from the rooms, and the rules that it applies.

In reading order: `area`, `clusters`, `partitions`, `groups`, `flows`, `streams`, `internal_topics`,
`crosslog`, `objectives`.
"""

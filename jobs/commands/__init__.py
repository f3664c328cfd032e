"""The commands of `crosslog`, one file each.

Sub-rooms: `replication`, `quorum`, `availability`.

In reading order: `bad_input`, `analysis`, `report`, `streams`.
"""

"""The commands of `crosslog`, one file each.

Sub-rooms: `replication`, `quorum`, `availability`.

In reading order: `command`, `analysis`, `report`, `streams`.
"""

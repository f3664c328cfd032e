"""The commands of `crosslog`, one file each: `table` lists them, `arguments` of a room has what they take.

Sub-rooms: `replication`, `quorum`, `availability`.

In reading order: `table`, `command`, `arguments`, `analysis`, `report`, `streams`.
"""

"""The commands of `crosslog`, one file each.

Sub-rooms: `replication`, `quorum`, `availability`, `standby`.

In reading order: `bad_input`, `analysis`, `document_text`, `report`, `streams`.
"""

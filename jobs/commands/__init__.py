"""The commands of `crosslog`, one file each.

Sub-rooms: `replication`, `quorum`, `availability`.

In reading order: `bad_input`, `analysis`, `document_text`, `report`, `streams`.
"""

"""The room of events that move through topics.

Sub-rooms: `extractors`, `replays`.
In reading order: `models`, `urls`, `apps`.
"""

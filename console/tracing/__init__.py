"""The room of events that move through topics.

Sub-rooms: `extractors`.
In reading order: `apps`, `models`, `urls`.
"""

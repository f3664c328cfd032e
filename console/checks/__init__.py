"""Checks: their rounds over everything that was recorded, their settings, their catalogue.

Rooms: `areas`.

In reading order: `apps`, `models`, `settings`, `round`, `tasks`.
"""

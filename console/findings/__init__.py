"""Findings of all rooms: one table, its life, one list; incidents made of them; objectives.

Sub-rooms: `incidents`, `objectives`.

In reading order: `apps`, `models`, `store`, `queries`, `check_settings`, `serializers`, `api`, `pages`,
`navigation`, `urls`, `tasks`.
"""

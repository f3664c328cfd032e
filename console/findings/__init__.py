"""Findings of all rooms: one table, its life, one list.

Rooms: `incidents`.

In reading order: `apps`, `models`, `store`, `queries`, `serializers`, `api`, `pages`, `navigation`, `urls`,
`tasks`.
"""

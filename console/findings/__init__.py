"""Findings of all rooms: one table, its life, one list.

In reading order: `apps`, `models`, `store`, `queries`, `check_settings`, `serializers`, `api`, `pages`,
`navigation`, `urls`, `tasks`.
"""

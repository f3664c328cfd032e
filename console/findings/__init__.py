"""Findings of all rooms: one table, its life, one list.

In reading order: `models`, `queries`, `serializers`, `api`, `pages`, `navigation`, `urls`.
"""

"""Checks: their rounds over everything that was recorded, their settings, their catalogue.

Sub-rooms: `areas`, `objectives`.

In reading order: `apps`, `models`, `rules`, `round`, `tasks`, `catalogue`, `queries`, `windows`, `actions`,
`forms`, `pages`, `urls`, `navigation`, `serializers`, `api`.
"""

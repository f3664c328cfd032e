"""Incidents: open findings with one cause, from their opening to their end.

In reading order: `models`, `queries`, `reading`, `timeline`, `store`, `actions`, `serializers`, `api`,
`forms`, `pages`, `navigation`.
"""

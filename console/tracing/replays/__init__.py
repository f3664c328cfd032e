"""Redrives: replay plans that are applied, from the console.

In reading order: `models`, `plan`, `queries`, `actions`, `pages`, `serializers`, `api`.
"""

"""The designer of placements.

In reading order: `api`, `pages`, `forms`.
"""

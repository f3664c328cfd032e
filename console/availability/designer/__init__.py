"""The placement designer.

In reading order: `api`, `pages`, `forms`.
"""

"""The first page: what is wrong now, over all rooms.

In reading order: `apps`, `urls`, `pages`, `queries`, `findings`.
"""

"""The overview: open issues of all rooms, clusters, flows.

In reading order: `apps`, `urls`, `pages`, `queries`, `findings`.
"""

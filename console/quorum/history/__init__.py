"""What changed, and the state at an offset or a time.

In reading order: `queries`, `pages`, `state_pages`, `timelines`.
"""

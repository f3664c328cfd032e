"""Dead letters sent again: what is done with each, the headers of a replay, and its parts.

In reading order: `headers`, `planning`, `parts`.
"""

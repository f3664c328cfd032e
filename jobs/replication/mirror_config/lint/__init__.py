"""What is wrong, or strange, about a configuration of MirrorMaker 2.

In reading order: `rules`, `keys`, `values`, `choices`, `names`, `flows`, `cycles`.
"""

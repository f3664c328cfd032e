"""MirrorMaker 2's configuration explained; nothing of it is kept.

In reading order: `explanation`, `api`, `pages`.
"""

"""The change advisor over what the console knows of a quorum.

In reading order: `advice`, `pages`.
"""

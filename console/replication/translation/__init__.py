"""Translation of offsets: the followed archive, and the workbench.

In reading order: `translator`, `sources`, `follower`, `limits`, `workbench`, `analyses`, `pages`.
"""

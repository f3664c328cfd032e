"""Translation of offsets: the followed archive, and the workbench.

In reading order: `follower`, `translator`, `limits`, `workbench`, `pages`.
"""

"""Translation of offsets: the followed archive, and the workbench.

In reading order: `translator`, `follower`, `limits`, `workbench`, `pages`.
"""

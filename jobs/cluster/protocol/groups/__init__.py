"""Groups and their members as their coordinators tell them.

In reading order: `coordinators`, `listing`, `classic`, `consumer`, `share`, `streams`, `committed_offsets`.
"""

"""What is wrong with the cluster under a flow, an application, a topic or a group, by what all rooms know.

In reading order: `seen_elsewhere`, `stuck`, `told`.
"""

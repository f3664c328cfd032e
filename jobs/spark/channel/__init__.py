"""The line between a running flow's driver and its tasks.

In reading order: `messages`, `line`, `sealed_line`.
"""

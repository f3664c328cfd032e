"""Checkpoints: written, read, how far behind they are, and whether a group can fail over now.

In reading order: `rules`, `rounds`, `clusters`, `thread`, `topic`, `follow`, `lag`, `group_reading`,
`group_sync`, `readiness`, `obstacles`, `reasons`.
"""

"""The round of checkpoints: rows and both clusters, the rules, answers as rows.

In reading order: `collect`, `facts`, `evaluation`, `answers`, `memory`, `order`, `store`.
"""

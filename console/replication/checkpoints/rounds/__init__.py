"""The round of checkpoints: rows and both clusters, the rules, answers as rows.

In reading order: `collect`, `door`, `facts`, `evaluation`, `answers`, `hold`, `memory`, `order`,
`store`.
"""

"""The round of checkpoints: rows and both clusters, the rules, answers as rows.

In reading order: `collect`, `door`, `facts`, `judge`, `answers`, `hold`, `memory`, `order`,
`store`.
"""

"""A flow: its settings, what it selects, what it begins with, and how far behind it is.

In reading order: `spec`, `file`, `selection`, `heartbeat_copy`, `windows`, `plan`, `preflight`,
`internal_topics`, `lag`, `lacking`.
"""

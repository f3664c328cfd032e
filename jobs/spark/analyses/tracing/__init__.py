"""Kinds about events that move through topics.

In reading order: `letters`, `dead_letters`, `letter_groups`; `replay_plan`, `replay_sources`; `redrive`,
`resending`.
"""

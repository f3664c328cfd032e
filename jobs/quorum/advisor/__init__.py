"""The safe way to other voters: single steps with Kafka's commands, or a refusal with its reason.

In reading order: `advice`, `plan`, `input`, `state`, `checks`, `order`, `commands`,
`site_layout`.
"""

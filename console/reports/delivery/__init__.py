"""How reports reach people and programs: an outbox, tried again until it is delivered or given up.

In reading order: `destinations`, `results`, `contents`, `message`, `mail`, `folder`, `webhook`,
`channels`, `outbox`, `bounces`, `queries`, `actions`, `pages`, `api`.
"""

"""How messages reach people and programs: an outbox, tried again until it is delivered or given up.

Rooms register what they send (`outbox.SOURCES`): reports, notifications.

In reading order: `apps`, `models`, `results`, `destinations`, `mail`, `folder`, `webhook`, `channels`,
`outbox`, `bounces`, `queries`, `actions`, `pages`, `api`, `urls`, `tasks`.
"""

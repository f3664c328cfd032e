"""Checkpoints beside their groups, and the answer to "can I fail over now?".

Sub-rooms: `rounds`.

In reading order: `models`, `applications`, `queries`, `api`, `serializers`, `pages`, `tables`, `facts`,
`history`, `text`, `series`, `news`.
"""

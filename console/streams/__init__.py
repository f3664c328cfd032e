"""Kafka Streams applications: who runs what, how far behind, who serves a key.

Sub-rooms: `collection`, `application`, `rebalances`, `lookup`.

In reading order: `apps`, `urls`, `models`, `snapshots`, `queries`, `actions`, `api`,
`serializers`, `pages`, `page_context`, `equivalents`, `navigation`, `tasks`.
"""

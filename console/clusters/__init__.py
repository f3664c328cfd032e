"""Clusters, brokers, topics, partitions and groups: the registry, and what was last seen of each.

Sub-rooms: `collection`, `capabilities`, `trouble`, `mirror`.

In reading order: `apps`, `urls`, `models`, `status`, `queries`, `actions`, `api`, `serializers`,
`pages`, `settings_pages`, `tables`, `facts`, `counted`, `equivalents`, `navigation`, `tasks`.
"""

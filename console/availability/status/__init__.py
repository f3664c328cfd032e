"""State of partitions, its start, and its history.

In reading order: `models`, `broker_models`, `queries`, `brokers`, `api`, `api_filters`,
`serializers`, `pages`, `tables`, `facts`, `definitions`, `timelines`, `history`, `series`.
"""

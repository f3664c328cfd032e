"""How partitions stand, since when, and what it was like before.

In reading order: `models`, `broker_models`, `queries`, `brokers`, `api`, `api_filters`,
`serializers`, `pages`, `tables`, `facts`, `definitions`, `timelines`, `history`, `series`.
"""

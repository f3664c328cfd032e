"""How partitions stand, since when, and what it was like before.

In reading order: `models`, `broker_models`, `queries`, `brokers`, `api`, `api_filters`,
`serializers`, `pages`, `tables`, `facts`, `words`, `pictures`, `history`, `series`, `rises`,
`equivalents`.
"""

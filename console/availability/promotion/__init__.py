"""Promotions: policies, what people may do about them, and what was done.

In reading order: `models`, `policies`, `queries`, `actions`, `audit`, `catalogue`, `acted_topics`,
`api`, `serializers`, `urls`, `pages`, `forms`, `tables`, `page_context`, `equivalents`.
"""

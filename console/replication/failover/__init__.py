"""Failovers: plans, the runs that carry them out, and their reports.

In reading order: `models`, `queries`, `actions`, `work`, `door`, `api`, `serializers`, `pages`,
`forms`, `tables`, `page_context`.
"""

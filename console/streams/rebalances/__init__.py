"""Rebalances of an application over time: lanes of its instances, what each rebalance changed.

In reading order: `pages`, `lanes`, `queries`, `serializers`.
"""

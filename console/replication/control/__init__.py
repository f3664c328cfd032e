"""Steering: what is wanted of flows, and the runs that follow from it.

In reading order: `control`, `steering`, `actions`, `api`, `serializers`, `pages`, `reconcile`,
`conflicts`, `crashes`, `stages`.
"""

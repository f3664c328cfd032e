"""Placements and observers: assignment, comparison with actual replicas, changes with preview.

In reading order: `models`, `placements`, `drafts`, `effects`, `actions`, `api`, `serializers`,
`pages`, `forms`, `tables`, `equivalents`, `observers`, `observer_pages`.
"""

"""Placements and observers: assigned, compared with real replicas, changed in two steps.

In reading order: `models`, `placements`, `drafts`, `effects`, `actions`, `api`, `serializers`,
`pages`, `forms`, `tables`, `equivalents`, `observers`, `observer_pages`.
"""

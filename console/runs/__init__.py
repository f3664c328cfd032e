"""Job runs: a row each, with state, progress and result.

Sub-rooms: `analyses`, `engines`.

In reading order: `apps`, `urls`, `models`, `queries`, `cluster_sources`, `uploads`, `actions`, `collect`,
`launcher`, `checks`, `api`, `serializers`, `pages`, `tables`, `navigation`, `tasks`.
"""

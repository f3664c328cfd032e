"""A row per job run: the truth about the job.

Sub-rooms: `analyses`.

In reading order: `apps`, `urls`, `models`, `queries`, `cluster_sources`, `uploads`, `actions`, `collect`,
`launcher`, `checks`, `api`, `serializers`, `pages`, `tables`, `navigation`, `tasks`.
"""

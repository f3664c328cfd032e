"""Quorums: voters, leaders, and the history of metadata logs.

Sub-rooms: `voters`, `log`, `history`, `advisor`.

In reading order: `apps`, `urls`, `models`, `queries`, `api`, `api_filters`, `serializers`,
`pages`, `page_context`, `forms`, `tables`, `facts`, `labels`, `equivalents`, `navigation`, `tasks`.
"""

"""Flows: their settings, how they do, and their pages.

In reading order: `models`, `queries`, `actions`, `api`, `serializers`, `pages`, `forms`, `policy_fields`,
`tables`, `facts`, `page_context`, `status`, `audits`, `preview`, `history`, `mirror_graph`.
"""

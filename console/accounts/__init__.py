"""Users, their roles, their tokens, and the audit log.

Sub-rooms: `sign_in`.

In reading order: `apps`, `urls`, `models`, `queries`, `actions`, `audit`, `tokens`, `asked_rights`,
`backends`, `api`, `serializers`, `pages`, `own_pages`, `forms`, `tables`, `tasks`.
"""

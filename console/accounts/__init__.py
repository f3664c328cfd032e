"""People, what they may do and where, their tokens, and the trail of what was done.

Sub-rooms: `sign_in`.

In reading order: `apps`, `urls`, `models`, `queries`, `actions`, `audit`, `tokens`, `asked_rights`,
`backends`, `api`, `serializers`, `pages`, `own_pages`, `forms`, `tables`, `tasks`.
"""

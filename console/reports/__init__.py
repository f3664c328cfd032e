"""Reports: what is made of a period for people who do not open the console, and how it reaches them.

Sub-rooms: `kinds` (what they are built from), `making` (how they are made), `sending` (what recipients get).

In reading order: `models`, `definition`, `subjects`, `queries`, `actions`, `pages`, `page_context`,
`downloads`, `api`, `serializers`, `forms`, `tables`, `navigation`, `tasks`, `urls`, `apps`.
"""

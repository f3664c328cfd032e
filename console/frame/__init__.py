"""What all pages and routes share, and the processes of crosslog on one machine.

Sub-rooms: `pages`, `help`, `tables`, `rest`, `security`, `processes`.

In reading order: `apps`, `urls`, `models`, `signals`, `tasks`, `rounds`, `claims`, `series`, `errors`,
`brief_writes`.
"""

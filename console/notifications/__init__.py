"""Notifications: which incidents are sent where, by routes and channels.

Sub-rooms: `sending` (how each kind of channel sends).

In reading order: `apps`, `models`, `kinds`, `channel_values`, `route_values`, `queries`, `actions`, `forms`,
`pages`, `serializers`, `api`, `navigation`, `round`, `urls`.
"""

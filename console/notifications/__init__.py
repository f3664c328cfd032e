"""Notifications: which incidents are sent where, by routes and channels.

In reading order: `apps`, `models`, `kinds`, `channel_values`, `route_values`, `queries`, `actions`, `forms`,
`pages`, `serializers`, `api`, `navigation`, `urls`.
"""

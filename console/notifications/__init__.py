"""Notifications: which incidents are sent where, by routes and channels.

In reading order: `apps`, `models`, `kinds`, `round`, `apprise_door`, `services`, `sending`, `urls`.
"""

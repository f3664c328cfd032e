"""Which incidents are notified where and when, and the texts of messages. Pure.

In reading order: `message`, `routes`, `texts`, `webhook_bodies`.
"""

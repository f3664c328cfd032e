"""How a notification is sent by each kind of channel.

In reading order: `apprise_door`, `services`, `channels`.
"""

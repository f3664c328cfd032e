"""Drills: promotions tried on a test topic, and what-if answers compared with what happened.

In reading order: `models`, `queries`, `actions`, `work`, `api`, `pages`.
"""

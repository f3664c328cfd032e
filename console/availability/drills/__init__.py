"""Drills: promotions on a test topic, and predictions compared with observed results.

In reading order: `models`, `queries`, `actions`, `work`, `api`, `pages`.
"""

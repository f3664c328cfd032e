"""Objectives: measured from what rooms recorded; created, changed and removed by people.

In reading order: `sources`, `actions`, `serializers`, `api`, `forms`, `pages`.
"""

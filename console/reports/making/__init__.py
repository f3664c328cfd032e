"""How reports are made: on a schedule or on request, each in a program of its own.

In reading order: `building`, `store`, `parts`, `starter`.
"""

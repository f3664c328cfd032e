"""Service level objectives: how much of the error budget is left, and how fast it burns. Pure.

In reading order: `objective`, `measuring`, `checks`.
"""

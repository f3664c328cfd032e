"""Placement of replicas and what it is worth: how bad the state of a partition is.

Sub-rooms: `status`, `what_if`, `placements`, `designer`, `promotion`, `acting`, `runbooks`.

In reading order: `drills`.
"""

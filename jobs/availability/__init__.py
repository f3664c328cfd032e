"""Placement of replicas and what it is worth: how bad the state of a partition is."""

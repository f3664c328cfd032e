"""Replication: naming policy, selection, positions, copying and lag rules."""

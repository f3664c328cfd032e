"""Kinds of reports: each a pure function from what was recorded of a period to sections.

Sub-rooms: `flows` (disaster recovery, replication), `clusters` (availability, quorum and metadata).

In reading order: `columns`, `kind`, `objectives`, `audit_trail`.
"""

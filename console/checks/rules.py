"""Imports every module with rules of checks, so that `CHECKS` has all of them.

Rooms with rules in the console import these in their `AppConfig.ready`.
"""

from __future__ import annotations

from jobs.checks import brokers, clusters, crosslog, flows, groups, partitions, replicas
from jobs.objectives import checks as objectives
from jobs.quorum.health import compare, describe_quorum_rules, metadata_log_rules
from jobs.replication.findings import (
    drift,
    group_failures,
    loop_failures,
    partition_failures,
    worker_failures,
)
from jobs.streams.audit import orphans, rules, running

RULES = (
    clusters,
    brokers,
    partitions,
    replicas,
    groups,
    flows,
    running,
    *rules.MODULES,
    orphans,
    crosslog,
    objectives,
    describe_quorum_rules,
    metadata_log_rules,
    compare,
    partition_failures,
    group_failures,
    loop_failures,
    worker_failures,
    drift,
)

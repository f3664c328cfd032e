"""Names of topics beside `jobs.replication.policy`: policies given by data, found by names, and
asked as MirrorMaker 2 does.

In reading order: `custom_policy`, `detection`, `topology`, `mirror_client`, `mirror_maker`.
"""

"""Names of topics beside `policy`: policies given by data, found by names, asked as MirrorMaker 2 does.

In reading order: `custom_policy`, `detection`, `topology`, `mirror_client`.
"""

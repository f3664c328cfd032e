"""Metadata logs as files: folders of nodes and the archive, followed, imported and read.

In reading order: `folder`, `folder_records`, `folder_snapshots`, `possible_times`, `file_source`,
`batches`, `archive`, `archive_manifest`, `reader`, `ranges`, `follower`, `polling`,
`source`, `importer`, `uploads`.
"""

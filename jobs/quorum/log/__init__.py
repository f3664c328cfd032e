"""Metadata logs as files: folders of nodes, the archive, and whoever follows, imports and reads
them.

In reading order: `folder`, `folder_records`, `folder_snapshots`, `file_source`, `batches`,
`archive`, `archive_manifest`, `reader`, `follower`, `polling`, `source`, `importer`, `uploads`,
`replica_digest`.
"""

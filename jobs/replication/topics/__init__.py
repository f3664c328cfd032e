"""Remote topics: made like their source topics, kept like them, and in what they differ.

In reading order: `remote_topics`, `changes`, `fan_in`, `sync`, `plan`, `preview`, `config_sync`,
`acl_sync`, `drift`.
"""

"""Remote topics: made like their source topics, kept like them, and in what they differ.

In reading order: `remote_topics`, `remote_topic_ids`, `creation`, `existing`, `growth`, `sync`,
`plan`, `changes`, `preview`, `state`, `config_sync`, `acl_sync`, `drift`, `drift_report`, `fan_in`,
`cautions`.
"""

"""Commands about flows, translation, failover and MirrorMaker 2's configuration.

In reading order: `arguments`, `replicate`, `checkpoints`, `drift`, `translate`, `failover`,
`failover_file`, `failover_text`, `verify_report`, `mirror_config`, `detect_policy`.
"""

"""Keeping promoted standby brokers in the ISR: the loop, its decisions, and where promotions are
kept.

In reading order: `loop`, `standbys`, `broker_watch`, `decisions`, `policy_decider`, `promotions`,
`store_rules`, `folder_store`.
"""

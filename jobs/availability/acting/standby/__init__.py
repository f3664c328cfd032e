"""Keeping promoted standby brokers in the ISR: the loop, its decisions, and the store of promotions.

In reading order: `loop`, `standbys`, `broker_watch`, `decisions`, `promotions`.
"""

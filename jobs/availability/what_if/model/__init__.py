"""A cluster as far as losses matter, and how it is written down as JSON.

In reading order: `cluster`, `document`, `topics`, `settings`, `fields`, `describe_text`, `scenario_json`.
"""

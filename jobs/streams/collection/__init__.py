"""What clusters tell of applications, asked, or read from a capture.

In reading order: `applications`, `topic_facts`, `changelog_search`, `capture`.
"""

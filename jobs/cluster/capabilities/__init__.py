"""What a Kafka version has and lacks, known before it is needed.

In reading order: `releases`, `needs`, `verdicts`, `reader`.
"""

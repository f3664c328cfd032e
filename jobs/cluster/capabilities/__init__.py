"""What a Kafka version has and lacks, known before it is needed.

In reading order: `needs`, `releases`, `verdicts`, `reader`.
"""

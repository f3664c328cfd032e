"""What works on a cluster, as its brokers last said what they offer.

In reading order: `serializers`.
"""

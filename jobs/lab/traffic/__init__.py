"""Records and consumer groups on the clusters of a lab.

In reading order: `shop`, `fulfilment`, `services`, `writers`, `fill`.
"""

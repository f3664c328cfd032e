"""A real Kafka Streams application beside a lab, with a door that says what its JVM knows.

In reading order: `application`, `settled`, `orders`; the application itself is `ShopTotals.java`.
"""

"""The only door to a Kafka cluster: typed connections, named errors, one file per family of requests."""

"""Everything that is true of Kafka and everything that runs on Spark; never imports Django."""

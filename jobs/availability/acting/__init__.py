"""Acting on plain Kafka when an ISR shrinks: four actors, and the loop that keeps a promotion."""

"""What is prepared before the first node starts: Java, Kafka's jars, the class archive.

In reading order: `preparation`, `java`, `jvm`, `releases`, `fetch`, `program`.
"""

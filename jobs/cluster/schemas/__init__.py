"""Values that a schema registry describes: registries by name, schemas by id, records as JSON values.

In reading order: `named`, `errors`, `client`, `avro`, `protobuf`, `decoder`.
"""

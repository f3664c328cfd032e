"""What all routes of the API share.

In reading order: `viewset`, `api`, `sequences`, `parameters`, `parsing`, `serializers`,
`schema`, `schema_view`, `schema_unions`, `etag`, `idempotency`, `throttling`.
"""

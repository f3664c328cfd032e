"""What all routes of the API share.

In reading order: `viewset`, `api`, `parameters`, `parsing`, `serializers`,
`schema`, `schema_view`, `api_docs`, `etag`, `idempotency`, `throttling`.
"""

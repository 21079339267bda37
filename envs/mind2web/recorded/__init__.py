"""A user's own Mind2Web data: reading, ranks, the published tournament, and the published metrics."""

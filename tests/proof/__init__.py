"""Proof over real HTTP: the whole path with models, against an endpoint that knows the truth."""

"""Requests to endpoints: client, failures, limits."""

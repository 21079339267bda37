"""Drivers of other frameworks, with the same server, latency and two model calls in a turn.

Each runs in the virtual environment of its framework; this package does not import `simia_gym`.
"""

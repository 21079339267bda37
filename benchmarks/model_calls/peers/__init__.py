"""Drivers of other frameworks: the same server, the same latency, the same two model calls a turn.

Each runs in a Python of its own, in which the framework is installed; nothing of `simia_gym` is imported here.
"""

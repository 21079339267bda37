"""Drivers of other frameworks: the same server, the same latency, one model call of the policy and one of the world a turn.

Each runs in a Python of its own, in which the framework is installed; nothing of `simia_gym` is imported here.
"""

"""Criteria that are checked by code."""

"""Criteria that are checked by a language model."""

"""Builds episodes from settings."""

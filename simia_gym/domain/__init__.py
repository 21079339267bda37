"""Domains: a folder, loaded and checked once."""

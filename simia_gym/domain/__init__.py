"""Domains: each is a folder of files and code that is loaded and checked once."""

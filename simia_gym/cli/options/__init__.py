"""Command line options, generated from settings."""

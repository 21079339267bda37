"""Measurements of the suite; no part of what is installed."""

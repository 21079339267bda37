"""Retail: an online shop's customer service."""

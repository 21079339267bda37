"""Conversations as tokens: the template, and what is exact about it."""

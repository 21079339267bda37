"""Compares the same tasks on two sides, episode by episode: two backends, models, prompts, users or judges."""

"""Supervised training on trajectories."""

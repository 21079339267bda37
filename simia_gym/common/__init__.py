"""Small helpers that know nothing about environments."""

"""Conversations as training data: their written form, and what programs find wrong with them."""

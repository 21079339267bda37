"""Conversations as the trainers of others load them."""

"""Overhead of episodes with model calls: this product, a plain implementation, and other frameworks."""

"""What an episode costs in which a model answers: our product, the same written plainly, and other frameworks."""

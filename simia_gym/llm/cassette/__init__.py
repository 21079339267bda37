"""Record and replay model replies."""

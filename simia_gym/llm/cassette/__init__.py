"""Recording and replaying the answers of models."""

"""Episodes on a Ray cluster."""

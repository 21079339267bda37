"""What runs in processes of its own, with an empty environment and the standard library alone."""

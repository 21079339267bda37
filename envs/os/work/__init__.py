"""Own tasks: kinds and their sentences, what is drawn, and how the expert works."""

"""Own tasks: how they are drawn, how their sentences are read, and the expert."""

"""Output of the commands in the terminal."""

"""Real files of offices, read into rows of the state. The libraries load when a file needs them."""

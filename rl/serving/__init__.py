"""Episodes served to agents of other programs, which act by tool calls alone."""

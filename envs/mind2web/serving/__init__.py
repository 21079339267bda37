"""A site for a person: at an address of this machine, in a browser of their own."""

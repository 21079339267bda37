"""The domains: one folder each, everything a domain is."""

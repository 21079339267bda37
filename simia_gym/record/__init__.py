"""Records of episodes: event ledger, verdict, record files."""

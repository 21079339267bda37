"""The record of an episode: ledger, verdict, record files."""

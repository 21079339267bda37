"""Many episodes: a work queue over `Episode`, a resumable record, and the proof that a record is true."""

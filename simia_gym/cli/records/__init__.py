"""Commands on records: show, replay, export, and records of the real benchmark."""

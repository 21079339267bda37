"""A small trained language model in every role of every domain."""

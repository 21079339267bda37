"""The domain ``os``: a shell on a file tree."""

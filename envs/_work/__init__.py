"""What own tasks of several domains share."""

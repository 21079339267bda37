"""Running a trainer of verl: its processes, its options in Hydra's syntax, its log."""

"""Options, profiles and verl's configuration of a training."""

"""What verl needs in order to train on processors, and the rollout engines that it does not bring."""

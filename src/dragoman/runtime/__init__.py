"""What owns tasks, descriptors, signals and the clock."""

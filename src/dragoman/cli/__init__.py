"""The command line. `entry` is what runs first and imports the least."""

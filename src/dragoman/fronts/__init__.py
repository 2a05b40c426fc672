"""Our faces toward clients: one front for each era."""

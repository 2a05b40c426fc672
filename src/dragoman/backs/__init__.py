"""Our faces toward servers: one back for each era."""

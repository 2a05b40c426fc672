"""How frames travel: pipes, child processes, and what carries them."""

"""What the tests share: official schemas, dialogues without I/O, real processes."""

"""Looking at a conversation: the frame log."""

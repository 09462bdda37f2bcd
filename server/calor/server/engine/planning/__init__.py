"""What would be done, told by the same decisions, without doing it."""

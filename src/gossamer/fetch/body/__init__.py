"""The body of an answer: as sent, in memory or a file, and as its author wrote it."""

"""What `make bench-organisations` is made of: pages, indexes, questions, weighed messages."""

"""A judged set for the index: questions of which one page is the answer, and indexes to ask."""

"""What pages tell about the parts of a site, and what follows from it: pure rules over counts."""

"""The inner loops of BVGraph files: bits, rows, starts of rows, kinds of links."""

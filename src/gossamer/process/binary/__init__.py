"""Where the processors of PDFs and images were: entry points of older installations name it."""

"""PDFs and pictures: processors with heavy libraries, loaded when first needed."""

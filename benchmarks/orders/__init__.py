"""The crawl-order laboratory: web graphs, and orders in which their pages could be fetched."""

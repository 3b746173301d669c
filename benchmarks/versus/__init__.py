"""The same crawl by others: which arms there are, how each is asked, and where it is installed."""

"""A crawl that has grown: an endless web as a function of numbers, and states made of it."""

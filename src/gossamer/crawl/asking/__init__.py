"""ASK ONCE: the request itself, and what its answer means for host and task.

`caller` makes one request at an address that is due; `answers` says what an outcome means. The
worker (`crawl.worker`) tells the story: robots first, then the page, then its turn.
"""

"""A model of a crawl by many machines: where shards lie, what fails, and what it all takes."""

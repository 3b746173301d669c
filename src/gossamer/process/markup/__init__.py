"""Where links hide: HTML pages, response headers, scripts and styles, XML of feeds and sitemaps."""

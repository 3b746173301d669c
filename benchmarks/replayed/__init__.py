"""A crawl of recorded answers: what is recorded, libcurl played back, one arm."""

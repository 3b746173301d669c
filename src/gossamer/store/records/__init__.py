"""Archive records: how a turn becomes WARC members, links JSON and CDXJ lines. Pure."""

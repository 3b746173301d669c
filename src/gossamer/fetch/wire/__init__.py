"""What goes over the wire and comes back: the words of requests, header blocks, libcurl."""

"""Where the HTML processor was: entry points of older installations name it."""

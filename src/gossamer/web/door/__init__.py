"""WHO MAY ASK, HOW MUCH AND HOW LONG? What stands between a socket and the answers.

`guard` is what every answer is held to, `patience` bounds what a client may send, `turns` how many
questions are answered at a time, `metrics` counts them.

Neighbours: `app` and `server` put it together. Not for: answering.
"""

"""Pages that change and policies that visit them: what `freshness.py` simulates."""

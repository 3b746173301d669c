"""What holds for all tests: none fails because a machine is slow, so no example has a deadline."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

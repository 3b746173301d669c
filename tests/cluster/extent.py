"""How much of the trials is played: one crawl, or all with CLUSTER_FULL=1."""

import os

IS_FULL = bool(os.environ.get("CLUSTER_FULL"))

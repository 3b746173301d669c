"""HOW DOES THE CRAWL DO, AND WHAT IS TO BE DONE? The pages from which a crawl is watched.

`routes` are the pages, `drawing` what they are made of, `actions` what may be changed and by whom,
`kept` are answers that take long to find, `sparkline` draws the last hour and day.

Neighbours: `app` puts it together; asks the engine as all pages do. Not for: knowing anything that
a Python program cannot know through `gossamer.open`.
"""

from gossamer.web.console.actions import Actions
from gossamer.web.console.drawing import SCRIPT, SCRIPT_POLICY
from gossamer.web.console.kept import KeptAnswers
from gossamer.web.console.routes import console_routes

"""Mistakes that newcomers make, and what each is told: an exit code and words of one line.

Words in capitals stand for what a test has prepared: OK is a finished crawl, NEW a folder that does
not exist, WEB a server on loopback, CLOSED a port at which nobody listens. `docs/OPERATING.md` has
the table that is made of this one.
"""

from typing import NamedTuple


class Mistake(NamedTuple):
    """What is typed, what it means for the exit code, and what the line must say."""

    title: str
    words: str
    code: int
    wrong: str
    """What was wrong, as the line has it."""
    remedy: str
    """What to do, as the line has it."""


MISTAKES: tuple[Mistake, ...] = (
    # Commands and flags
    Mistake("misspelt command", "craw WEB/", 2, "No such command 'craw'", "Did you mean 'crawl'?"),
    Mistake("no command", "WEB/", 2, "is not a command", "did you mean `gossamer crawl WEB/"),
    Mistake(
        "empty name of a folder",
        "crawl WEB/ --into=",
        2,
        "Invalid value for '--into': expected a name, found ''",
        "see `gossamer crawl --help`",
    ),
    Mistake("no folder", "crawl WEB/", 2, "Missing option '--into'", "such as --into mycrawl"),
    Mistake(
        "no seed", "crawl --into NEW", 2, "nothing to start from", "give a URL, or --seeds FILE"
    ),
    Mistake(
        "misspelt flag",
        "crawl WEB/ --into NEW --max-page 3",
        2,
        "No such option: --max-page",
        "did you mean --max-pages?",
    ),
    Mistake("flag of wget", "crawl WEB/ --into NEW -l 3", 2, "No such option: -l", "--max-depth N"),
    Mistake(
        "flag of curl", "crawl WEB/ --into NEW -k", 2, "No such option: -k", "--insecure accepts"
    ),
    Mistake(
        "long flag with one dash",
        "crawl WEB/ -into NEW",
        2,
        "No such option: -into",
        "did you mean --into?",
    ),
    Mistake(
        "flag before the command",
        "--into NEW WEB/",
        2,
        "No such option: --into",
        "a command comes first, as in `gossamer crawl --into ...`",
    ),
    Mistake(
        "robots.txt unwanted",
        "crawl WEB/ --into NEW --no-robots",
        2,
        "robots.txt is always obeyed",
        "robots.own_hosts in crawl.toml",
    ),
    Mistake(
        "asking for the version", "version", 2, "'version' is not a command", "`gossamer --version`"
    ),
    Mistake(
        "misspelt --version", "--verison", 2, "No such option: --verison", "did you mean --version?"
    ),
    Mistake(
        "no colon",
        "crawl https//a.test/x --into NEW",
        2,
        "'https//a.test/x' is not a valid URL",
        "did you mean https://a.test/x?",
    ),
    Mistake(
        "file of seeds for a URL, misspelt",
        "crawl ./seed.txt --into NEW",
        2,
        "'./seed.txt' is not a valid URL",
        "it does not exist: check the spelling of --seeds ./seed.txt",
    ),
    Mistake(
        "folder for a page",
        "report OK --html .",
        2,
        ". is a folder",
        "give a file, such as page.html",
    ),
    Mistake("asking for help", "help", 2, "'help' is not a command", "`gossamer --help` lists"),
    Mistake(
        "flag without its value",
        "crawl WEB/ --into NEW --max-pages",
        2,
        "'--max-pages' requires an argument",
        "see `gossamer crawl --help`",
    ),
    Mistake(
        "no argument", "status", 2, "Missing argument 'DIR|URL'", "see `gossamer status --help`"
    ),
    Mistake(
        "one argument too many", "status OK OK", 2, "unexpected extra argument", "status --help`"
    ),
    # Numbers, sizes, times
    Mistake(
        "count in words",
        "crawl WEB/ --into NEW --max-pages many",
        2,
        "--max-pages: expected a whole number",
        "such as 10000, 10k or 2M",
    ),
    Mistake(
        "size with a wrong unit",
        "crawl WEB/ --into NEW --max-bytes 10XB",
        2,
        "--max-bytes: expected a size",
        "such as 500000, 10M, 2GiB or 10GB",
    ),
    Mistake(
        "archive of no bytes",
        "crawl WEB/ --into NEW --max-bytes 0",
        2,
        "--max-bytes: expected 1 byte or more",
        "such as 10G, found '0'",
    ),
    Mistake(
        "time in words",
        "crawl WEB/ --into NEW --max-time soon",
        2,
        "--max-time: expected seconds",
        "such as 90s, 5m, 2h or 1d",
    ),
    Mistake(
        "number out of range",
        "crawl WEB/ --into NEW --concurrency 0",
        2,
        "found 0",
        "--concurrency: expected an integer from 1 to 4096",
    ),
    Mistake(
        "empty name of who asks",
        "crawl WEB/ --into NEW --user-agent=",
        2,
        "--user-agent: expected a name such as 'mybot/1.0'",
        "without the flag it is gossamer/VERSION",
    ),
    # URLs and seeds files
    Mistake(
        "misspelt scheme",
        "crawl htp://a.test/x --into NEW",
        2,
        "unknown scheme 'htp'",
        "did you mean http://a.test/x?",
    ),
    Mistake(
        "no scheme",
        "crawl example.org/docs --into NEW",
        2,
        "'example.org/docs' is not a valid URL",
        "did you mean https://example.org/docs?",
    ),
    Mistake(
        "no scheme, with a port",
        "crawl localhost:8000 --into NEW",
        2,
        "'localhost:8000' is not a valid URL",
        "did you mean http://localhost:8000?",
    ),
    Mistake(
        "mail address",
        "crawl mailto:me@a.test --into NEW",
        2,
        "cannot be crawled",
        "expected a URL with http://",
    ),
    Mistake(
        "scheme without a protocol module",
        "crawl nowhere://a.test/ --into NEW",
        2,
        "no protocol module for nowhere",
        "install a package with one",
    ),
    Mistake(
        "links to follow without a protocol module",
        "crawl WEB/ --into NEW --scheme nowhere",
        2,
        "--scheme: no protocol module for nowhere",
        "or leave nowhere out",
    ),
    Mistake(
        "links to files",
        "crawl WEB/ --into NEW --scheme file",
        2,
        "--scheme: file cannot be followed",
        "it only works as a seed",
    ),
    Mistake(
        "seeds file given as a seed",
        "crawl GOOD_SEEDS --into NEW",
        2,
        "is not a valid URL; it is a file",
        "give --seeds GOOD_SEEDS",
    ),
    Mistake(
        "empty seeds file",
        "crawl --seeds EMPTY --into NEW",
        2,
        "EMPTY has no seeds",
        "expected a URL per line",
    ),
    Mistake(
        "bad line of a seeds file",
        "crawl --seeds BAD_SEEDS --into NEW",
        2,
        "BAD_SEEDS, line 3: 'htps://a.test/'",
        "did you mean https://a.test/?",
    ),
    Mistake(
        "seeds file with commas",
        "crawl --seeds TABLE --into NEW",
        2,
        "TABLE, line 1: 'https://b.test/,news' has a comma",
        "blanks before its labels",
    ),
    Mistake(
        "seeds file that is not there",
        "crawl --seeds NEW --into NEW",
        2,
        "cannot read the seeds file NEW: No such file",
        "expected a text file",
    ),
    Mistake(
        "seeds file that is no text",
        "crawl --seeds BINARY --into NEW",
        2,
        "BINARY: line 1 is not UTF-8 text",
        "expected a URL per line",
    ),
    Mistake(
        "very long line of a seeds file",
        "crawl --seeds LONG --into NEW",
        2,
        "LONG, line 2: 'http://a.test/xxx",
        "is too long: 300,014 characters; expected at most 65,536",
    ),
    Mistake(
        "seeds file in Latin-1",
        "crawl --seeds LATIN --into NEW",
        2,
        "LATIN: line 2 is not UTF-8 text",
        "expected a URL per line",
    ),
    Mistake(
        "port that does not exist",
        "crawl http://a.test:99999/ --into NEW",
        2,
        "has the port 99999",
        "expected one from 1 to 65535",
    ),
    Mistake(
        "proxy of an unknown kind",
        "crawl WEB/ --into NEW --proxy foo://127.0.0.1:3128",
        2,
        "found 'foo'",
        "--proxy: expected a URL such as http://localhost:3128",
    ),
    Mistake(
        "page without a scheme",
        "show OK site.test/a",
        1,
        "site.test/a is not in the archive",
        "did you mean https://site.test/a?",
    ),
    # Values of flags
    Mistake(
        "unknown scope", "crawl WEB/ --into NEW --scope site", 2, "found 'site'", '"domain", "host"'
    ),
    Mistake(
        "unknown order",
        "crawl WEB/ --into NEW --order best-first",
        2,
        "found 'best-first'",
        '"bfs"',
    ),
    Mistake(
        "bad pattern",
        "crawl WEB/ --into NEW --allow [a-z]+",
        2,
        "--allow: expected a host without port, found '[a-z]+'",
        "a URL pattern (*/private/*)",
    ),
    Mistake(
        "header without a colon",
        "crawl WEB/ --into NEW --header Accept",
        2,
        "--header: expected",
        '"Name: value"',
    ),
    Mistake(
        "proxy without a scheme",
        "crawl WEB/ --into NEW --proxy localhost:3128",
        2,
        "--proxy: expected a URL",
        "such as http://localhost:3128",
    ),
    Mistake(
        "proxy without a host",
        "crawl WEB/ --into NEW --proxy http://",
        2,
        "--proxy: expected a URL",
        "with a host",
    ),
    Mistake(
        "credentials without a host",
        "crawl WEB/ --into NEW --auth me:secret",
        2,
        "--auth: expected",
        "HOST=USER:PASS",
    ),
    Mistake(
        "network by name",
        "crawl WEB/ --into NEW --allow-net localhost",
        2,
        "--allow-net: expected a network",
        "127.0.0.0/8 for localhost",
    ),
    Mistake(
        "function that is not there",
        "crawl WEB/ --into NEW --score nowhere:worth",
        2,
        "No module named 'nowhere'",
        'expected "module:function"',
    ),
    # Configuration
    Mistake(
        "misspelt setting",
        "crawl WEB/ --into NEW --config MISSPELT",
        2,
        "fetch.user_agnt: unknown setting",
        "did you mean fetch.user_agent?",
    ),
    Mistake(
        "broken TOML",
        "crawl WEB/ --into NEW --config BROKEN",
        2,
        "BROKEN is not valid TOML",
        "line 2, column 9); mend that line",
    ),
    Mistake(
        "settings file that is not there",
        "crawl WEB/ --into NEW --config NEW",
        2,
        "NEW does not exist",
        "check the spelling",
    ),
    Mistake(
        "folder as a settings file",
        "crawl WEB/ --into NEW --config OK",
        2,
        "OK cannot be read",
        "expected a TOML file",
    ),
    Mistake(
        "misspelt setting of set",
        "set OK filter.max_dpeth=3",
        2,
        "filter.max_dpeth: unknown setting",
        "did you mean filter.max_depth?",
    ),
    Mistake(
        "size as text in a settings file",
        "crawl WEB/ --into NEW --config TEXTUAL",
        2,
        "found '10k'",
        "limits.max_pages: expected an integer",
    ),
    # Folders
    Mistake(
        "part of another crawl",
        "crawl WEB/ --into OK/archive",
        2,
        "that is inside the crawl OK",
        "give a folder of its own, or that one to go on with it",
    ),
    Mistake(
        "file instead of a folder",
        "crawl WEB/ --into EMPTY",
        4,
        "EMPTY is a file and is not a folder",
        "give the name of a new folder",
    ),
    Mistake(
        "misspelt folder",
        "status OKK",
        2,
        "OKK is not a crawl folder: it does not exist",
        "mean OK?",
    ),
    Mistake(
        "folder inside of a crawl",
        "status OK/archive",
        2,
        "is not a crawl folder",
        "did you mean OK?",
    ),
    Mistake(
        "folder without a crawl",
        "search ELSEWHERE words",
        2,
        "ELSEWHERE is not a crawl folder: there is no crawl.toml",
        "`gossamer crawl URL --into DIR`",
    ),
    Mistake(
        "crawl that runs already",
        "crawl --into BUSY",
        4,
        "is using BUSY",
        "stop it first, or see `gossamer status BUSY`",
    ),
    Mistake(
        "settings that were cut",
        "crawl --into CUT",
        4,
        "its closing line is missing; nothing was changed",
        "Put it back",
    ),
    Mistake(
        "crawl without its state",
        "status STATELESS",
        4,
        "STATELESS has no state",
        "`gossamer build STATELESS state`",
    ),
    # Questions
    Mistake(
        "question about what is no URL",
        "why OK nonsense",
        2,
        "'nonsense' is not a valid URL",
        "expected one such as https://host/path",
    ),
    Mistake(
        "question about a URL without a scheme",
        "why OK site.test/a",
        2,
        "'site.test/a' is not a valid URL",
        "did you mean https://site.test/a?",
    ),
    Mistake(
        "filter without a value",
        "search OK lang:",
        2,
        "found 'lang:'",
        "QUERY: expected words to look for, or a filter as in lang:de",
    ),
    Mistake(
        "misspelt table",
        "export OK page",
        2,
        "there is no table 'page'",
        "pages, urls, links, hosts, changes, images",
    ),
    Mistake(
        "tables without a place",
        "export OK pages",
        2,
        "Missing option '--to'",
        "see `gossamer export --help`",
    ),
    Mistake(
        "page that is not stored",
        "show OK http://elsewhere.test/",
        1,
        "is not in the archive",
        "`gossamer why` says more",
    ),
    Mistake(
        "links of what is no URL",
        "links OK nonsense",
        1,
        "nonsense is not in the graph",
        "expected the URL of a page or a link",
    ),
    Mistake(
        "rules that are not there",
        "extract OK --rules NEW",
        2,
        "cannot read the rules in NEW: No such file",
        "expected a TOML file",
    ),
    Mistake(
        "retry of what is no URL",
        "retry OK --url nonsense",
        2,
        "--url: 'nonsense' is not a valid URL",
        "expected one such as https://host/path",
    ),
    Mistake(
        "receipt of an unknown host",
        "receipt OK elsewhere.test",
        1,
        "no request to elsewhere.test is recorded",
        "`gossamer list DIR hosts` names the hosts",
    ),
    Mistake(
        "status code as a reason",
        "retry OK --reason 404",
        2,
        "there is no reason '404'",
        "did you mean not_found?",
    ),
    Mistake(
        "unknown thing to build",
        "build OK idx",
        2,
        "found 'idx'",
        "expected state, near, graph, index",
    ),
    Mistake(
        "folder instead of files",
        "index ELSEWHERE --into NEW",
        2,
        "ELSEWHERE is a folder",
        "expected files",
    ),
    Mistake(
        "port in use",
        "serve OK --port USED --no-build",
        2,
        "--port USED: Address already in use",
        "give another one",
    ),
    Mistake(
        "search on a machine that is not there",
        "search http://127.0.0.1:CLOSED,http://127.0.0.1:CLOSED/ moths",
        4,
        "http://127.0.0.1:CLOSED does not answer: Connection refused",
        "expected a `gossamer serve DIR --shard` there",
    ),
    Mistake(
        "several places as a shard",
        "serve OK http://127.0.0.1:CLOSED --shard",
        2,
        "--shard and --query-log: expected one DIR",
        "found URLs or several places",
    ),
    Mistake(
        "index in something that is no object store",
        "search ftp://a.test/x moths",
        2,
        "ftp://a.test/x: expected s3://BUCKET/PREFIX",
        "file:///FOLDER",
    ),
    # Seeds that cannot be fetched
    Mistake(
        "loopback without --allow-net",
        "crawl http://127.0.0.1:CLOSED/ --into NEW",
        1,
        "private_address: 127.0.0.1 is loopback",
        "--allow-net 127.0.0.0/8 allows it",
    ),
    Mistake(
        "nobody listens there",
        "crawl http://127.0.0.1:CLOSED/ --into NEW --allow-net 127.0.0.0/8 --max-time 0.5",
        1,
        "Connection refused",
        "check host, port and network",
    ),
    Mistake(
        "redirect loop",
        "crawl WEB/loop --into NEW FENCE",
        1,
        "too_many_redirects: a redirect loop: ",
        "try --cookies",
    ),
    Mistake(
        "redirect out of scope",
        "crawl WEB/away --into NEW FENCE",
        1,
        "redirects to http://other.test/",
        "--scope any, or more seeds",
    ),
    Mistake(
        "redirect to another protocol",
        "crawl WEB/ftp --into NEW FENCE",
        1,
        "redirects to ftp://site.test/",
        "ftp: with --scheme ftp or as a seed",
    ),
    Mistake(
        "page that is gone",
        "crawl WEB/gone --into NEW FENCE",
        1,
        "the page is gone (410)",
        "give another URL",
    ),
    Mistake(
        "status that is seldom met",
        "crawl WEB/teapot --into NEW FENCE",
        1,
        "the server answered 418",
        "check the URL in a browser",
    ),
    Mistake(
        "one bad seed among good ones",
        "crawl WEB/ WEB/nothing --into NEW FENCE",
        0,
        "WEB/nothing  Given up after 1 attempt: not_found",
        "check the spelling",
    ),
    Mistake(
        "page that is forbidden",
        "crawl WEB/forbidden --into NEW FENCE",
        1,
        "http_403: the server answered 403 Forbidden",
        "without --auth, --header or --cookies",
    ),
    Mistake(
        "page that is not there",
        "crawl WEB/nothing --into NEW FENCE",
        1,
        "the server has no such page (404)",
        "check the spelling",
    ),
    Mistake(
        "page that wants a password",
        "crawl WEB/private --into NEW FENCE",
        1,
        "unauthorized: the server wants to know who asks",
        "--auth or --header",
    ),
    Mistake(
        "site that forbids robots",
        "crawl SHY/ --into NEW FENCE",
        1,
        "robots.txt of its host forbids it",
        "if the host is yours, name it in robots.own_hosts",
    ),
    Mistake(
        "--allow that leaves the seed out",
        "crawl WEB/ --into NEW FENCE --allow https://a.test/docs",
        1,
        "matches none of the --allow patterns",
        "* stands for any characters",
    ),
    Mistake(
        "port of another service",
        "crawl http://127.0.0.1:25/ --into NEW FENCE",
        1,
        "bad_port: its port belongs to another service",
        "another port",
    ),
    Mistake(
        "certificate for another name",
        "crawl OTHER_NAME/ --into NEW FENCE",
        1,
        "tls_certificate: the certificate is for another name",
        "--insecure, if you accept that",
    ),
    Mistake(
        "certificate that is self-signed",
        "crawl SELF_SIGNED/ --into NEW FENCE",
        1,
        "tls_certificate: the certificate is self-signed",
        "--insecure, if you accept that",
    ),
)

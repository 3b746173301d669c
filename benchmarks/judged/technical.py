"""Forty technical questions over the real web, and what the URL of a right answer looks like.

They were written before anybody looked at an answer, from what these manuals are known to hold.
Then patterns that no URL of the crawl fits were mended, by the list of URLs alone, and one question
was put for another whose page is not there. Any page that a pattern fits is right: manuals explain
some things in two places.
"""

from typing import Final, NamedTuple


class Technical(NamedTuple):
    """A question, and what the URLs of right pages have in them: a regular expression."""

    kind: str
    text: str
    right: str


TECHNICAL: Final = tuple(
    Technical(*row)
    for row in (
        ("option", "git commit --amend", r"/git-commit\.html$"),
        ("option", "git clean -f", r"/git-clean\.html$"),
        ("option", "git rebase -i", r"/git-rebase\.html$"),
        ("option", "git log --follow", r"/git-log\.html$"),
        ("option", "apachectl -k graceful", r"apache-en\..*/(apachectl|stopping|httpd)\.html$"),
        ("option", "cmake -DCMAKE_BUILD_TYPE", r"/CMAKE_BUILD_TYPE\.html$"),
        ("option", "rustc -C opt-level", r"rustc/codegen-options/|/codegen-options/index\.html$"),
        ("option", "ghc -Wincomplete-patterns", r"/using-warnings\.html$"),
        ("option", "pg_dump --schema-only", r"/app-pgdump\.html$"),
        ("option", "python -m venv", r"/(venv|tutorial/venv)\.html$"),
        ("error", "fatal: refusing to merge unrelated histories", r"/git-(merge|pull)\.html$"),
        (
            "error",
            "sqlite error: database is locked",
            r"sqlite.*/(rescode|lockingv3|faq|wal)\.html",
        ),
        ("error", "ERROR: deadlock detected", r"/(explicit-locking|errcodes-appendix)\.html$"),
        (
            "error",
            "error[E0502]: cannot borrow `x` as mutable because it is also borrowed as immutable",
            r"E0502|ch04-02|/error-index\.html$",
        ),
        (
            "error",
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff",
            r"python.*/(unicode|exceptions|codecs)\.html$",
        ),
        ("error", "SettingWithCopyWarning", r"/(indexing|.*SettingWithCopy.*)\.html$"),
        (
            "error",
            "java.util.ConcurrentModificationException",
            r"/ConcurrentModificationException\.html$",
        ),
        ("name", "sqlite3_prepare_v2", r"sqlite.*/(prepare|cintro)\.html$"),
        ("name", "std::deque::emplace_back", r"/deque/emplace_back\.html$"),
        ("name", "g_hash_table_insert", r"glib.*/glib-Hash-Tables\.html$"),
        ("name", "QString::arg", r"/qstring\.html$"),
        ("name", "pd.DataFrame.groupby", r"/pandas\.DataFrame\.groupby\.html$"),
        ("name", "str.removeprefix", r"/stdtypes\.html$"),
        ("name", "select_related", r"/querysets\.html$"),
        ("name", "gen_server:call/2", r"/gen_server\.html$"),
        ("name", "kmalloc GFP_ATOMIC", r"/(memory-allocation|mm-api|gfp_mask.*)\.html$"),
        ("name", "RewriteCond", r"apache-en\..*/(mod_rewrite|rewrite/.*)\.html$"),
        ("phrase", '"write-ahead logging"', r"/(wal|wal-intro)\.html$"),
        ("phrase", '"row level security" policy', r"/(ddl-rowsecurity|sql-createpolicy)\.html$"),
        ("phrase", '"common table expression"', r"/(lang_with|queries-with)\.html$"),
        ("misspelt", "postgersql vaccum", r"/(routine-vacuuming|sql-vacuum|app-vacuumdb)\.html$"),
        ("misspelt", "asyncio semaphor", r"/asyncio-sync\.html$"),
        ("misspelt", "djano middlware", r"/(http/)?middleware(/index)?\.html$"),
        ("misspelt", "regualr expresion syntax python", r"/(re|regex)\.html$"),
        ("language", "hôtes virtuels par nom", r"/fr/vhosts/"),
        ("language", "Apache のコンパイルとインストール", r"/ja/install\.html$"),
        ("language", "内核编码风格", r"zh_(CN|TW)/.*coding-style"),
        ("language", "Fehlermeldungen in anderen Sprachen apache", r"/de/custom-error\.html$"),
        ("sentence", "How do I undo the last commit?", r"/(git-reset|git-revert|gittutorial)"),
        ("sentence", "ant copy task", r"/Tasks/copy\.html$"),
    )
)

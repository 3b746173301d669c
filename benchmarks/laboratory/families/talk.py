"""Places where people write: blogs, a forum, a mailing list, questions, commits."""

from laboratory.families.family import Family, scaled
from laboratory.families.page import (
    Frame,
    Link,
    anchor,
    around,
    count_in,
    inline,
    listed,
    number_of,
    para,
    phrase,
    prose,
    query_of,
    slug,
)


def blogs(scale: float) -> Family:
    """Return blogs on subdomains, six pages each, that link each other in blogrolls."""
    count, posts = scaled(300, scale, 5), 4
    domain = "penmanship.test"

    def host(number: int) -> str:
        return f"{slug(1, 'blog', number)}{number}.{domain}"

    numbers = {host(number): number for number in range(count)}

    def frame(number: int) -> Frame:
        return Frame(phrase(3, "blog", number).title(), (Link("/", "Home"),), ("about",))

    def post(number: int, at: int) -> Link:
        return Link(f"/{2019 + at}/{slug(3, 'post', number, at)}", phrase(3, "post", number, at))

    def answer(asked: str, target: str) -> str | None:
        number = numbers.get(asked)
        if number is None:
            return None
        drawn = (number_of("roll", number, n) % count for n in range(4))
        roll = [Link(f"//{host(n)}/", host(n)) for n in ((number + 1) % count, *drawn)]
        written = [post(number, at) for at in range(posts)]
        if target == "/":
            parts = [f"<h2>{anchor(link)}</h2>{para(30, number, link.text)}" for link in written]
            return frame(number).page("Latest", *parts, "Blogroll", listed(roll))
        for at, link in enumerate(written):
            if link.href == target:
                beside = inline(written[n] for n in around(at, posts))
                return frame(number).page(link.text, para(150, "blog", number, at), beside)
        return frame(number).notice(target)

    return Family(
        "blogs", (f"//{host(0)}/",), answer, count * (2 + posts), hosts=rf"[a-z0-9-]+\.{domain}"
    )


def forum(scale: float) -> Family:
    """Return boards with topics that go over several pages, and the profiles of those who wrote."""
    boards, topics, members = scaled(12, scale), scaled(600, scale, 12), scaled(250, scale, 5)
    per_board, per_topic = 25, 15
    frame = Frame("Kiln & Clay forum", (Link("/index.php", "Board index"),), ("rules", "privacy"))

    def board(number: int, at: int = 0) -> Link:
        start = f"&start={at * per_board}" if at else ""
        return Link(
            f"/viewforum.php?f={number + 1}{start}", f"{phrase(2, 'board', number)} {at + 1}"
        )

    def topic(number: int, at: int = 0) -> Link:
        start = f"&start={at * per_topic}" if at else ""
        return Link(
            f"/viewtopic.php?t={number + 100}{start}", f"{phrase(4, 'topic', number)} {at + 1}"
        )

    def member(number: int) -> Link:
        href = f"/memberlist.php?mode=viewprofile&u={number + 2}"
        return Link(href, phrase(1, "member", number) + str(number % 100))

    def topics_of(number: int) -> range:
        return range(number, topics, boards)

    def board_pages(number: int) -> int:
        return max(1, -(-len(topics_of(number)) // per_board))

    def topic_pages(number: int) -> int:
        return 1 + number_of("length", number) % 4 * (number % 2)

    def board_page(number: int, at: int) -> str:
        shown = topics_of(number)[at * per_board : (at + 1) * per_board]
        pages = [board(number, other) for other in range(board_pages(number))]
        return frame.page(board(number).text, listed(map(topic, shown)), inline(pages))

    def topic_page(number: int, at: int) -> str:
        blocks = []
        for n in range(4 + number_of("posts", number, at) % 5):
            who = member((number * 7 + at * 3 + n) % members)
            blocks.append(f"<div><b>{anchor(who)}</b>{para(35, 'post', number, at, n)}</div>")
        pages = [topic(number, other) for other in range(topic_pages(number))]
        return frame.page(topic(number).text, *blocks, inline([board(number % boards), *pages]))

    def numbered(asked: dict[str, str], name: str, first: int, count: int) -> int | None:
        value = count_in(asked.get(name, ""), below=first + count, start=first)
        return None if value is None else value - first

    def started(asked: dict[str, str], per_page: int, pages: int) -> int | None:
        value = count_in(asked.get("start", "0"), below=per_page * pages)
        if value is None or value % per_page or ("start" in asked) != bool(value):
            return None
        return value // per_page

    def answer(_host: str, target: str) -> str | None:
        path, asked = query_of(target)
        if target == "/index.php":
            return frame.page("Board index", listed(board(n) for n in range(boards)))
        number = numbered(asked, "f", 1, boards)
        if path == "/viewforum.php" and number is not None:
            at = started(asked, per_board, board_pages(number))
            return None if at is None else board_page(number, at)
        number = numbered(asked, "t", 100, topics)
        if path == "/viewtopic.php" and number is not None:
            at = started(asked, per_topic, topic_pages(number))
            return None if at is None else topic_page(number, at)
        number = numbered(asked, "u", 2, members)
        if path == "/memberlist.php" and number is not None:
            facts = (
                f"<p>Joined {2003 + number % 20}; {number_of('posts', number) % 4000} posts.</p>"
            )
            return frame.page(member(number).text, facts, para(12, "profile", number))
        return frame.notice(target)

    of_boards = sum(map(board_pages, range(boards)))
    pages = 1 + of_boards + sum(map(topic_pages, range(topics))) + members + 2
    return Family("forum", ("//forum.kilnandclay.test/index.php",), answer, pages)


_MONTHS = "January February March April May June July August September October November December"


def mail(scale: float) -> Family:
    """Return the archive of a mailing list: messages with the ones before and after, by month."""
    count = scaled(2000, scale, 30)
    per_month = scaled(40, scale**0.5, 10)
    months = -(-count // per_month)
    orders = ("thread", "subject", "author", "date")
    frame = Frame("lists.weir-watch", (Link("/pipermail/weirs/", "Archives"),), ())

    def month(number: int) -> str:
        name = _MONTHS.split()[number % 12]
        return f"/pipermail/weirs/{2001 + number // 12}-{name}"

    places = {month(number): number for number in range(months)}

    def message(number: int) -> Link:
        href = f"{month(number // per_month)}/{number + 1:06d}.html"
        again = "Re: " * (number % 3 > 0)
        return Link(href, f"[weirs] {again}{phrase(4, 'subject', number // 3)}")

    def message_page(number: int) -> str:
        before, after = "Previous message", "Next message"
        beside = [
            Link(message(n).href, after if n > number else before) for n in around(number, count)
        ]
        here = month(number // per_month)
        lists = [Link(f"{here}/{order}.html", f"[ {order} ]") for order in orders]
        who = f"<b>{phrase(2, 'writer', number_of(number) % 70).title()}</b>"
        text = f"<pre>{prose(90, 'mail', number)}</pre>"
        return frame.page(message(number).text, who, inline(beside), text, inline(lists))

    def month_page(number: int, order: str) -> str:
        shown = list(range(number * per_month, min((number + 1) * per_month, count)))
        if order != "date":
            shown.sort(key=lambda n: number_of(order, n // 3))
        others = [Link(f"{month(number)}/{name}.html", name) for name in orders]
        title = f"{month(number).rpartition('/')[2]} by {order}"
        return frame.page(title, inline(others), listed(map(message, shown)))

    def answer(_host: str, target: str) -> str | None:
        if target == "/pipermail/weirs/":
            entries = [Link(f"{month(n)}/thread.html", month(n)[17:]) for n in range(months)]
            return frame.page("The weirs archives", listed(entries))
        folder, _, name = target.rpartition("/")
        number = places.get(folder)
        if number is None:
            return None
        name = name.removesuffix(".html")
        if name in orders:
            return month_page(number, name)
        value = count_in(name.lstrip("0"), below=count + 1, start=1)
        is_right = value is not None and message(value - 1).href == target
        return message_page(value - 1) if value is not None and is_right else None

    pages = 1 + months * len(orders) + count
    return Family("mail", ("//lists.weir-watch.test/pipermail/weirs/",), answer, pages)


def questions(scale: float) -> Family:
    """Return questions with answers, tags, those who asked, and related questions."""
    count, tags, users = scaled(1200, scale, 20), scaled(40, scale, 3), scaled(300, scale, 5)
    per_list = 30
    lists = -(-count // per_list)
    frame = Frame("Ask a Joiner", (Link("/questions", "Questions"), Link("/tags", "Tags")))

    def question(number: int) -> Link:
        title = phrase(5, "question", number)
        return Link(f"/questions/{number + 1}/{title.replace(' ', '-')}", f"Why {title}?")

    def tag(number: int) -> Link:
        name = f"{slug(1, 'tag', number)}-{number}"
        return Link(f"/questions/tagged/{name}", name)

    def user(number: int) -> Link:
        name = slug(1, "user", number)
        return Link(f"/users/{number + 1}/{name}", name)

    known = {tag(number).href: number for number in range(tags)}

    def question_page(number: int) -> str:
        related = [question(number_of("related", number, n) % count) for n in range(6)]
        replies = "".join(para(45, "reply", number, n) for n in range(1 + number % 3))
        by = inline([user(number % users), tag(number % tags), tag(number * 5 % tags)])
        text = para(60, "question", number)
        return frame.page(question(number).text, by, text, replies, "Related", listed(related))

    def list_page(target: str) -> str | None:
        path, asked = query_of(target)
        page = count_in(asked.get("page", "1"), below=lists + 1, start=1)
        if path != "/questions" or page is None or ("page" in asked) != (page > 1):
            return None
        shown = range((page - 1) * per_list, min(page * per_list, count))
        beside = [
            Link("/questions" + (f"?page={n}" if n > 1 else ""), str(n))
            for n in around(page, lists, 1)
        ]
        return frame.page(f"Questions, page {page}", listed(map(question, shown)), inline(beside))

    def detail(target: str) -> str | None:
        kind, _, rest = target[1:].partition("/")
        value = count_in(rest.partition("/")[0], below=count + users, start=1)
        if kind == "questions" and value and value <= count and question(value - 1).href == target:
            return question_page(value - 1)
        if kind == "users" and value and value <= users and user(value - 1).href == target:
            asked = [question(n) for n in range(value - 1, count, users)]
            return frame.page(user(value - 1).text, para(14, "user", value), listed(asked))
        return None

    def answer(_host: str, target: str) -> str | None:
        if target == "/tags":
            return frame.page("Tags", listed(tag(n) for n in range(tags)))
        if target in known:
            newest = [question(n) for n in range(known[target], count, tags)][:20]
            return frame.page(f"Tagged {tag(known[target]).text}", listed(newest))
        return list_page(target) or detail(target) or frame.notice(target)

    used = {n % users for n in range(count)}
    pages = lists + 1 + tags + count + len(used) + 3
    return Family("questions", ("//askajoiner.test/questions",), answer, pages)


def commits(scale: float) -> Family:
    """Return the history of a program: each commit links its parent, a merge links two."""
    count = scaled(2000, scale, 30)
    names = [
        f"{number_of('commit', n):016x}{number_of('commit', n, 2):016x}{n:08x}"
        for n in range(count)
    ]
    numbers = {name: number for number, name in enumerate(names)}
    frame = Frame("lathe", (Link("/lathe", "summary"),), ())

    def commit(number: int) -> Link:
        return Link(f"/lathe/commit/{names[number]}", names[number][:10])

    def answer(_host: str, target: str) -> str | None:
        if target == "/lathe":
            head = f"<p>master: {anchor(commit(0))}</p>"
            return frame.page("lathe", para(25, "repository"), head)
        number = numbers.get(target.removeprefix("/lathe/commit/"))
        if number is None or not target.startswith("/lathe/commit/"):
            return None
        parents = [number + 1] if number + 1 < count else []
        if number % 9 == 4 and number + 4 < count:
            parents.append(number + 2 + number_of("merged", number) % 3)
        who = phrase(2, "author", number_of("author", number) % 12).title()
        said = f"<h2>{phrase(5, 'commit', number).capitalize()}</h2><p>{who}</p>"
        lines = "\n".join(
            f"{'+-'[n % 2]}    {phrase(4, 'line', number, n).replace(' ', '_')}"
            for n in range(4 + number % 12)
        )
        body = para(number % 30, "why", number) + f"<pre>{lines}</pre>"
        return frame.page(names[number][:10], said, body, "parent ", inline(map(commit, parents)))

    return Family("commits", ("//git.lathe-source.test/lathe",), answer, 1 + count)

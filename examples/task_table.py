"""The task table of a crawl, in SQL: python examples/task_table.py DIR tasks.sqlite

Every known URL is a row with its state, priority, moment and labels. Without arguments a small web
is crawled first, and a question is asked of it.
"""

import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from small_web import small_web

import gossamer

COLUMNS = gossamer.TaskRow.__struct_fields__
BY_STATE = "SELECT state, count(*) AS urls FROM tasks GROUP BY state ORDER BY urls DESC, state"


def write_table(folder: Path, database: Path) -> None:
    """Write the task table of a crawl, running or stopped, to a new SQLite file."""
    marks = ", ".join("?" * len(COLUMNS))
    with sqlite3.connect(database) as connection:
        connection.execute("DROP TABLE IF EXISTS tasks")
        connection.execute(f"CREATE TABLE tasks ({', '.join(COLUMNS)})")
        rows = ([getattr(task, name) for name in COLUMNS] for task in gossamer.open(folder).tasks())
        connection.executemany(f"INSERT INTO tasks VALUES ({marks})", rows)


def ask(database: Path, question: str) -> None:
    """Print what a question in SQL is answered."""
    for row in sqlite3.connect(database).execute(question):
        print(*row, sep="\t")


def main(words: Sequence[str]) -> None:
    """Write the table of the folder that is named; else crawl a small web for a while."""
    if words:
        write_table(Path(words[0]), Path(words[1]))
        ask(Path(words[1]), BY_STATE)
        return
    with small_web(max_pages=20) as (seed, config, folder):
        gossamer.run(seed, folder, config=config)
        database = folder.with_name("tasks.sqlite")
        write_table(folder, database)
        ask(database, BY_STATE)


if __name__ == "__main__":
    main(sys.argv[1:])

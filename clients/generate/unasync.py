"""The synchronous half of the Python library, from the asynchronous one: the same text without `async` and `await`.

Files that differ in more than that (`BY_HAND`) are written twice, and are small.
"""

import re

BY_HAND = {"__init__.py", "io.py", "links.py"}

WORDS = [
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
    (r"\b__anext__\b", "__next__"),
    (r"\baclose\b", "close"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
]


def files(folder):
    """Name to text, for all that is made from files in `folder`."""
    sources = sorted(path for path in folder.glob("*.py") if path.name not in BY_HAND)
    return {path.name: without(path.read_text(), path.name) for path in sources}


def without(text, name):
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    head, quotes, rest = text.partition('"""\n\n')
    return f"{head}\n\nMade by clients/generate from _async/{name}.\n{quotes}{rest}" if "Made by" not in head else text

"""`python -m benchmarks.science.pages`: writes what is made from recorded data into the pages of findings.

A page is text with parts for it: `<!-- results: NAME -->`, and after it `<!-- end of results -->`. What is between
them is replaced by the block of that name. `--check` writes nothing, and fails if a page is not as it would be written.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.science.__main__ import FINDINGS
from benchmarks.science.blocks import block

PART = re.compile(r"(<!-- results: (\w+) -->\n).*?(\n?<!-- end of results -->)", re.DOTALL)


def pages() -> Iterator[Path]:
    """The index comes last, since it reads the others."""
    yield from sorted(FINDINGS.glob("*.md"))
    yield FINDINGS.with_suffix(".md")


def written(text: str) -> str:
    return PART.sub(lambda found: f"{found[1]}\n{block(found[2])}\n\n<!-- end of results -->", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a page would change")
    options = parser.parse_args()
    stale = False
    for path in pages():
        text = path.read_text()
        if (new := written(text)) != text:
            stale = True
            sys.stdout.write(f"{path.name}\n")
            if not options.check:
                path.write_text(new)
    return int(stale and options.check)


if __name__ == "__main__":
    sys.exit(main())

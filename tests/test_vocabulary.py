"""The tree uses the terms of `docs/vocabulary.md`. `python -m tests.test_vocabulary` counts and lists what does not.

`RETIRED` is the list: words, the term to use, and where a word has another meaning. Words are matched in all spellings
of an identifier (`kl_to_start`, `klToStart`, `KL_TO_START`, `kl-to-start`) and in prose, across the end of a line too.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "benchmarks",
    "client",
    "docker",
    "docs",
    "engine",
    "requirements",
    "static",
    "templates",
    "tests",
    "webapp",
    "workers",
)
SUFFIXES = {".py", ".js", ".ts", ".html", ".css", ".md", ".toml", ".txt", ".yml", ".yaml", ".env", ".svg", ".jinja"}

SKIPPED = {
    "docs/vocabulary.md": "lists the retired words itself",
    "tests/test_vocabulary.py": "lists the retired words itself",
    "static/vendor/": "third-party",
    "/migrations/": "generated from the models",
    "engine/models/": "weights and their tokenizer",
    "docs/findings/": "glyphs of figures; their labels come from benchmarks/science and the glossary",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Retired:
    """`words` are phrases, each with all its inflections; `pattern` is a regular expression in place of them."""

    words: tuple[str, ...] = ()
    pattern: str = ""
    use: str
    names_only: bool = False  # prose may use the word
    unless: str = ""  # a line that matches has the word in another meaning
    allowed: dict[str, str] = field(default_factory=dict)  # files or folders, with the reason

    @property
    def label(self) -> str:
        return " / ".join(self.words) or self.use


RETIRED = (
    Retired(words=("grid search",), use="sweep"),
    Retired(words=("main effect",), use="effect of the axis"),
    Retired(
        words=("reply", "replies", "replied"),
        use="response",
        unless=r"Reply (?:\{|<)",  # the instruction that the model in engine/models was trained on
    ),
    Retired(
        words=("puzzle", "puzzles"),
        use="problem (environment), prompt (training batch)",
        unless="puzzle24",  # a data set of reasoning-gym
    ),
    Retired(words=("siblings",), use="members of a group", allowed={"static/js/": "siblings of the DOM"}),
    Retired(
        words=("spread", "spreads"),
        use="standard deviation, std",
        unless=r"(?i)spread (?:\w+ )?(?:over|across|out|among|between|evenly)",
    ),
    Retired(
        words=("in group std", "in group reward", "in group score", "in group spread"),
        use="within-group, within_group",
        allowed={"engine/glossary/foreign.py": "RAGEN's names"},
    ),
    Retired(words=("evened", "even out", "evens out"), use="whitened, whiten"),
    Retired(words=("faded", "fades"), use="down-weighted", allowed={"static/css/": "visual fading"}),
    Retired(words=("kl to start", "kl to the start"), use="KL to reference, kl_to_reference"),
    Retired(words=("starting model",), use="reference model"),
    Retired(words=("rare rewards",), use="sparse rewards"),
    Retired(
        pattern=r"(?<![A-Za-z])apart(?![a-z])",
        use="separate, separately; distinguish, differ; except for",
        unless=r"(?i)\b(?:\d+(?:\.\d+)?|one|ten|minute|wall|far|degrees|gap|distances?)(?: \w+)? apart",
    ),
    Retired(words=("anew",), use="again, new"),
    Retired(words=("for ever",), use="forever"),
    Retired(words=("judgement", "judgements"), use="verdict"),
    Retired(words=("format story", "format stories"), use="format changes"),
    Retired(words=("speak up", "speaks up"), use="(an alert) fires"),
    Retired(words=("held out before", "held out after"), use="initial held-out success, final held-out success"),
    Retired(words=("told",), use="reported, emitted, notified, shown; distinguished"),
    Retired(words=("foretold", "foretell", "foretells"), use="predicted"),
    Retired(words=("news",), use="update"),
    Retired(words=("under way",), use="in progress"),
    Retired(words=("mend", "mends", "mended", "mending", "mendable"), use="retryable; recovered, repaired; fix"),
    Retired(words=("roll on", "rolls on", "rolled on", "rolling on"), use="continue the rollout"),
    Retired(words=("troupe", "troupes"), use="actor pool"),
    Retired(words=("crew", "crews"), use="actors"),
    Retired(words=("hollow",), use="meta (a model on PyTorch's meta device)"),
    Retired(words=("voice",), use="reporter, progress"),
    Retired(
        words=("doubt", "doubts", "troubles"), use="a name for what it holds: error, problem, reason", names_only=True
    ),
    Retired(words=("keep house",), use="clean up, maintain"),
    Retired(
        words=("look at",),
        use="inspect, poll, read",
        names_only=True,
        unless=r"look_at_obj_in_light",  # a task of ALFWorld
    ),
    Retired(
        words=("place", "places"),
        use="index, position (in a list or sequence); location (of a process); directory",
        names_only=True,
        unless=r"(?i:in[_ -]?place)|\bplace[A-Z]|take\w*[_ ](?:\w+[_ ])?place|place-(?:items|content|self)"
        r"|(?:and|then)_place",  # tasks of ALFWorld
    ),
    Retired(
        words=("shard", "shards", "sharded"),
        use="trajectory file (recordings), partition (rollouts)",
        unless=r"(?i)weight|param|optimi|gradient|fsdp|tensor|model(?!s)|module|learner|layer",
        allowed={
            "benchmarks/checkpoint_writes.py": "FSDP",
            "benchmarks/gpu/": "FSDP",
            "benchmarks/scaling/": "FSDP",
            "docs/cluster.md": "FSDP",
            "docs/scaling.md": "FSDP",
            "engine/cluster/": "FSDP",
            "engine/policies/": "FSDP, safetensors",
            "engine/training/": "FSDP",
            "tests/engine/cluster/": "FSDP",
            "tests/engine/policies/": "FSDP, safetensors",
            "tests/engine/training/": "FSDP",
        },
    ),
    Retired(
        pattern=r"checkpoint(?<!\wcheckpoint)(?:: Callable|\(\)|=(?:lambda|never|self\.|check_))",
        use="check_cancelled; a checkpoint is saved weights",
    ),
    Retired(words=("let go of the point",), use="clear selection"),
    Retired(words=("memorable one",), use="generated if left blank"),
    Retired(words=("taken is sent again",), use="failed deliveries are retried"),
)

# In the "Not" column of docs/vocabulary.md for one concept, and right for another: no search can tell them apart.
DEPENDS_ON_MEANING = {
    "answer", "benchmark", "question", "task", "game", "move", "round", "reasoning", "thought", "understood", "parts",
    "pull", "chosen", "start", "checkpoint", "closer", "wider", "the whole", "health", "signs", "format story",
    "workspace", "team", "permission", "right", "superuser", "root",
}  # fmt: skip


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    found: str
    retired: Retired = field(compare=False)
    source: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found!r} is retired, use: {self.retired.use}\n    {self.source[:160]}"


def findings_in(path: str, text: str) -> Iterator[Finding]:
    lowered = text.lower()
    for retired in RETIRED:
        if any(path.startswith(prefix) for prefix in retired.allowed):
            continue
        for match in occurrences(retired, text, lowered):
            if not retired.names_only or is_name(path, text, match):
                line = text.count("\n", 0, match.start()) + 1
                source = text.splitlines()[line - 1].strip()
                if not (retired.unless and re.search(retired.unless, source)):
                    yield Finding(path, line, " ".join(match[0].split()), retired, source)


def occurrences(retired: Retired, text: str, lowered: str) -> Iterator[re.Match[str]]:
    """A plain search for the first word, then the expression there: many times faster than the expression alone."""
    if retired.pattern:
        yield from re.finditer(retired.pattern, text)
    for words in retired.words:
        offset = lowered.find(words.split()[0])
        while offset >= 0:
            if match := spellings(words).match(text, offset):
                yield match
            offset = lowered.find(words.split()[0], offset + 1)


@cache
def spellings(phrase: str) -> re.Pattern[str]:
    """`look at`, `look_at`, `lookAt`, `LookAt`, `LOOK_AT`, `look-at`; words may be parted by a line's end and `#`."""
    words = phrase.split()
    between = r"[\s_#*/-]+"
    capital = [word.capitalize() for word in words]
    lower = [f"(?:{word}|{word.capitalize()}{'' if len(words) == 1 else '|' + word.upper()})" for word in words]
    return re.compile(
        "|".join(
            (
                rf"(?<![A-Za-z]){between.join(lower)}(?![a-z])",
                rf"(?<![A-Z]){''.join(capital)}(?![a-z])",
                rf"(?<![A-Za-z]){words[0]}{''.join(capital[1:])}(?![a-z])",
                rf"(?<![A-Za-z]){between.join(word.upper() for word in words)}(?![A-Za-z])",
            )
        )
    )


STRING = r"""'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\""""
PROSE = {
    ".py": re.compile(rf'"""(?:\\.|[^\\])*?"""|{STRING}|\#[^\n]*'),
    ".js": re.compile(rf"{STRING}|`(?:\\.|[^`\\])*`|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"),
    ".css": re.compile(r"/\*(?:[^*]|\*(?!/))*\*/"),
}
PROSE[".ts"] = PROSE[".js"]
NAMES = {
    ".html": re.compile(r"""\{[{%].*?[%}]\}|\b(?:class|id|name|for|data-[\w-]+)="[^"]*\""""),
    ".md": re.compile(r"`[^`\n]+`"),
}


def is_name(path: str, text: str, match: re.Match[str]) -> bool:
    """Whether it is in code, or in prose but part of an identifier (`best_place`), or the whole of a string."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    in_identifier = "_" in (before, after) or before.isalnum() or after.isalnum()
    return in_identifier or (before == after and before in ("'", '"')) or is_code(path, text, match.start())


def is_code(path: str, text: str, offset: int) -> bool:
    suffix = Path(path).suffix
    if suffix in PROSE:
        return not is_within(PROSE[suffix], text, offset)
    return suffix in NAMES and is_within(NAMES[suffix], text, offset)


def is_within(pattern: re.Pattern[str], text: str, offset: int) -> bool:
    stretches = spans(pattern, text)
    index = bisect_right(stretches, offset, key=lambda span: span[0]) - 1
    return index >= 0 and offset < stretches[index][1]


@lru_cache(maxsize=8)
def spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


def files(root: Path) -> Iterator[tuple[str, str]]:
    found = [path for folder in FOLDERS for path in (root / folder).rglob("*")]
    for path in sorted([*found, *root.glob("*.md"), *root.glob("*.toml"), root / "Makefile"]):
        name = path.relative_to(root).as_posix()
        is_source = path.suffix in SUFFIXES or path.name == "Makefile"
        if is_source and path.is_file() and not any(skipped in name for skipped in SKIPPED):
            yield name, path.read_text().replace("İ", "I")  # the only letter whose lower case is longer


def search(root: Path) -> list[Finding]:
    return sorted({finding for name, text in files(root) for finding in findings_in(name, text)})


def test_nothing_uses_a_retired_word() -> None:
    found = search(ROOT)
    assert not found, "\n".join(["see docs/vocabulary.md", *map(str, found)])


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("engine/a.py", "reply_tokens = 1", ["reply"]),
        ("engine/a.py", "class LastReply: ...", ["Reply"]),
        ("static/js/a.js", "const replyTokens = 1;", ["reply"]),
        ("engine/a.py", "KL_TO_START = 'policy/kl_to_start'", ["KL_TO_START", "kl_to_start"]),
        ("docs/a.md", "The KL to the\nstart is small.", ["KL to the start"]),
        ("engine/a.py", "# it was under\n# way", ["under # way"]),
        ("engine/rollout/prompts.py", 'f"Reply {thought}<answer>"', []),
        ("engine/a.py", "replay = replied_to", ["replied"]),
        ("engine/a.py", "for place, value in enumerate(values): ...", ["place"]),
        ("engine/a.py", '"""In place of it."""\nreplace(placeholder)', []),
        ("engine/a.py", '"""The first place."""', []),
        ("static/js/a.js", "keepFocusInPlace(() => placeLine(plot));", []),
        ("engine/a.py", '"""The index `best_place`."""', ["place"]),
        ("engine/a.py", 'row["place"]', ["place"]),
        ("static/css/a.css", ".place { place-items: center; }", []),
        ("static/css/a.css", "/* a place */\n.place-mark { top: 0; }", ["place"]),
        ("templates/a.html", '<p class="place">A place</p>', ["place"]),
        ("webapp/a.py", "newsletter, recommended, spreadsheet = crewless", []),
        ("engine/a.py", "# prompts are spread evenly over environments", []),
        ("engine/a.py", "std = spread(values)", ["spread"]),
        ("webapp/a.py", "read_shard(path)", ["shard"]),
        ("docs/a.md", "Learners shard the weights with FSDP2.", []),
        ("engine/a.py", "def wait(checkpoint: Callable[[], None]) -> None: ...", ["checkpoint: Callable"]),
        ("engine/a.py", "save(checkpoint=path)", []),
    ],
)
def test_words_are_found_in_names_and_prose_and_no_others_are(path: str, text: str, words: list[str]) -> None:
    assert [finding.found for finding in findings_in(path, text)] == words


def test_every_term_that_the_vocabulary_retires_is_searched_for_or_depends_on_its_meaning() -> None:
    rows = [line.split("|") for line in (ROOT / "docs" / "vocabulary.md").read_text().splitlines() if "|" in line]
    terms = {term.strip() for row in rows for term in row[3].split(",")} - {"", "Not", "---"}
    unknown = {term for term in terms - DEPENDS_ON_MEANING if not any(findings_in("docs/a.md", term))}
    assert not {term for term in unknown if not any(findings_in("docs/a.py", f"{term} = 1"))}


@pytest.mark.parametrize("path", sorted({*SKIPPED, *(path for retired in RETIRED for path in retired.allowed)}))
def test_every_exception_is_for_something_that_exists(path: str) -> None:
    assert (ROOT / path).exists() or any(path in found.as_posix() for found in ROOT.glob("webapp/*/*/*.py"))


def main(roots: Iterable[str]) -> None:
    for root in list(roots) or [ROOT]:
        found = search(Path(root))
        sys.stdout.writelines(f"{finding}\n" for finding in found)
        counts = Counter((finding.retired.label, finding.path.split("/")[0]) for finding in found)
        for label in dict.fromkeys(retired.label for retired in RETIRED):
            by_folder = {folder: count for (one, folder), count in sorted(counts.items()) if one == label}
            if by_folder:
                sys.stdout.write(f"{sum(by_folder.values()):5} {label}: {by_folder}\n")
        sys.stdout.write(f"{len(found)} in {root}\n")


if __name__ == "__main__":
    main(sys.argv[1:])

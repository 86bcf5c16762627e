"""Hidden characters of untrusted text: the server and the browser name the same ones alike."""

from __future__ import annotations

import json
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from tests.hostile import HOSTILE
from webapp.visible_text import visible

ROOT = Path(__file__).resolve().parents[2]
PRINTED = """
import { readFileSync } from "node:fs";
import { visible } from "./static/js/core/visible_text.js";
const named = {};
for (const code of JSON.parse(readFileSync(0, "utf8"))) {
  const character = String.fromCodePoint(code);
  const shown = visible(character);
  if (shown !== character) named[code] = shown;
}
console.log(JSON.stringify(named));
"""


def test_hidden_characters_are_named_and_everything_else_is_kept() -> None:
    assert visible("a\u202eb\x00c\u200bé√\n") == "a[RLO]b[NUL]c[ZWSP]é√\n"
    assert visible("\ue000\ufffd\u00a0👍🏽❤\ufe0f") == "[U+E000]\ufffd\u00a0👍🏽❤\ufe0f"


def test_no_hostile_text_keeps_a_control_or_format_character() -> None:
    kept = {character for text in HOSTILE for character in visible(text)}
    assert {unicodedata.category(one) for one in kept - {"\n", "\t"}} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} == set()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_browser_names_the_same_characters() -> None:
    ranges = [(0, 0x3400), (0xA000, 0x12000), (0x1B000, 0x1E000), (0xDFFF0, 0xE2000), (0xEFFF0, 0xF0100)]
    codes = [code for first, end in ranges for code in range(first, end)]
    command = ["node", "--input-type=module", "--eval", PRINTED]
    found = subprocess.run(
        command, cwd=ROOT, input=json.dumps(codes), capture_output=True, text=True, check=True, timeout=60
    )
    in_browser = {int(code): shown for code, shown in json.loads(found.stdout).items()}
    here = {code: shown for code in codes if (shown := visible(chr(code))) != chr(code)}
    assert here == in_browser

import assert from "node:assert/strict";
import { test } from "node:test";

import { isAtLeast, linesOf, parseLine, splitAtHits } from "../../../static/js/run/log_lines.js";

test("a stamped line has its time and level, and one that continues it has its level", () => {
  const first = parseLine("2026-01-02T03:04:05.678Z WARNING low memory", null);
  assert.deepEqual(first, { time: Date.UTC(2026, 0, 2, 3, 4, 5, 678), level: "warning", text: "low memory" });
  const second = parseLine("  at step 4", first);
  assert.deepEqual(second, { time: null, level: "warning", text: "  at step 4" });
  assert.equal(parseLine("step 5 done", second).level, "info");
  assert.equal(parseLine("2026-01-02T03:04:05Z CRITICAL gone", null).level, "error");
});

test("a traceback is an error to its last line, and plain warnings are found by their word", () => {
  const levels = [];
  let before = null;
  const lines = ["Traceback (most recent call last):", '  File "a.py", line 1', "ValueError: no", "loaded"];
  for (const line of [...lines, "a.py:3: UserWarning: slow"]) {
    before = parseLine(line, before);
    levels.push(before.level);
  }
  assert.deepEqual(levels, ["error", "error", "error", "info", "warning"]);
});

test("a filter by level keeps what is as bad or worse", () => {
  const shown = ["debug", "info", "warning", "error"].filter((level) =>
    isAtLeast({ time: null, level, text: "" }, "warning"),
  );
  assert.deepEqual(shown, ["warning", "error"]);
});

test("hits are found in any case, and every second part is one", () => {
  assert.deepEqual(splitAtHits("Step 1, step 2", "STEP"), ["", "Step", " 1, ", "step", " 2"]);
  assert.deepEqual(splitAtHits("aaa", "aa"), ["", "aa", "a"]);
  assert.deepEqual(splitAtHits("none", "x"), ["none"]);
  assert.deepEqual(splitAtHits("all", ""), ["all"]);
  assert.deepEqual(splitAtHits("İstep", "step"), ["İ", "step", ""]); // longer in lower case
});

test("progress bars are lines, and what has no newline yet is kept separate", () => {
  assert.deepEqual(linesOf("0%\r50%\r\n100%\nnext"), { lines: ["0%", "50%", "100%"], rest: "next" });
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { hitsIn, nextHit } from "../../../static/js/reader/text_search.js";

const found = (/** @type {string[]} */ texts, /** @type {string} */ query) =>
  hitsIn(texts, query).map(({ text, start, end }) => texts[text].slice(start, end));

test("hits are found in all texts, without regard to case, and do not overlap", () => {
  assert.deepEqual(hitsIn(["go Left", "", "left, LEFT"], "left"), [
    { text: 0, start: 3, end: 7 },
    { text: 2, start: 0, end: 4 },
    { text: 2, start: 6, end: 10 },
  ]);
  assert.deepEqual(found(["aaaaa"], "aa"), ["aa", "aa"]); // 0 to 2 and 2 to 4; the fifth is left over
});

test("a query is text, not a pattern", () => {
  assert.deepEqual(found(["a.b axb (a|b) [x]$"], "a.b"), ["a.b"]);
  assert.deepEqual(found(["a.b axb (a|b) [x]$"], "(a|b) [x]$"), ["(a|b) [x]$"]);
  assert.deepEqual(found(["<answer>Up</answer>"], "</answer>"), ["</answer>"]);
});

test("blanks of the query fit a line break, and positions count as strings do", () => {
  assert.deepEqual(found(["no\n  hole"], " no hole "), ["no\n  hole"]);
  // 𝐀 is two units of a string, and İ would be longer in lower case
  assert.deepEqual(hitsIn(["𝐀İ goal"], "GOAL"), [{ text: 0, start: 4, end: 8 }]);
});

test("nothing is found for an empty query", () => {
  assert.deepEqual(hitsIn(["text"], "  "), []);
});

test("next and previous go around the ends", () => {
  assert.equal(nextHit(-1, 3, 1), 0);
  assert.equal(nextHit(-1, 3, -1), 2);
  assert.equal(nextHit(2, 3, 1), 0);
  assert.equal(nextHit(0, 3, -1), 2);
  assert.equal(nextHit(-1, 0, 1), -1);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { csv } from "../../../static/js/core/downloads.js";
import { ago, bytes, duration, number, percent } from "../../../static/js/core/format.js";
import { visible, visibleString } from "../../../static/js/core/visible_text.js";

test("numbers keep about three digits, and very large and small ones have exponents", () => {
  assert.deepEqual(
    [0, 7, 1234, 0.12345, 12.345, 123.45].map((value) => number(value)),
    ["0", "7", "1,234", "0.123", "12.35", "123.5"],
  );
  assert.deepEqual(
    [123456, 0.0001234].map((value) => number(value)),
    ["1.23e+5", "1.23e-4"],
  );
  assert.deepEqual(
    [null, undefined, NaN].map((value) => number(value)),
    ["–", "–", "–"],
  );
});

test("shares are percentages with one digit", () => {
  assert.deepEqual([0.1234, 1, null].map(percent), ["12.3%", "100.0%", "–"]);
});

test("durations have at most two units", () => {
  assert.deepEqual([0.4, 59.4, 61, 3600, 3723, null].map(duration), [
    "0 s",
    "59 s",
    "1 min 1 s",
    "1 h 0 min",
    "1 h 2 min",
    "–",
  ]);
});

test("times passed are in the largest unit that fits", () => {
  const now = 1_000_000;
  assert.deepEqual(
    [0, 4, 5, 60, 3600, 86400].map((passed) => ago(now - passed, now)),
    ["now", "now", "5 s ago", "1 min ago", "1 h ago", "1 d ago"],
  );
  assert.equal(ago(now + 10, now), "now"); // a clock that is ahead
});

test("sizes are decimal", () => {
  assert.deepEqual([999, 1500, 2_500_000].map(bytes), ["999 B", "1.5 kB", "2.5 MB"]);
});

test("CSV quotes what needs it and does not let text be a formula", () => {
  assert.equal(csv([["a,b", 'c"d', "=1+1", -3, null]]), '"a,b","c""d",\'=1+1,-3,\r\n');
});

test("CSV names hidden characters of its text", () => {
  assert.equal(csv([["run \u202eabc", 1]]), "run [RLO]abc,1\r\n");
});

test("invisible characters are named", () => {
  assert.equal(visibleString("a\u200bb\u202ec\n\u0007"), "a[ZWSP]b[RLO]c↵[BEL]");
  assert.equal(visibleString("plain"), "plain");
  assert.equal(visible("a\nb\tc\u2066"), "a\nb\tc[LRI]"); // text of several lines keeps them
  assert.equal(visibleString("\ud800"), "[U+D800]"); // half of a surrogate pair
});

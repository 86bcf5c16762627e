import assert from "node:assert/strict";
import { test } from "node:test";

import { dropPosition, keyPosition } from "../../../static/js/queue/moves.js";

// three rows of 20 pixels: their middles are at 10, 30 and 50
const ROWS = [
  { top: 0, bottom: 20 },
  { top: 20, bottom: 40 },
  { top: 40, bottom: 60 },
];

test("a row is dropped before the first one whose middle is below the pointer", () => {
  assert.equal(dropPosition(ROWS, 2, 5), 1);
  assert.equal(dropPosition(ROWS, 2, 15), 2);
  assert.equal(dropPosition(ROWS, 0, 35), 2);
  assert.equal(dropPosition(ROWS, 0, 55), 3);
});

test("a row that is dropped where it was stays there", () => {
  for (const [from, y] of [
    [0, 10],
    [1, 30],
    [2, 50],
  ]) {
    assert.equal(dropPosition(ROWS, from, y), from + 1);
  }
});

test("arrow keys move by one, Home and End to the ends, and other keys nothing", () => {
  assert.equal(keyPosition("ArrowUp", 2, 3), 1);
  assert.equal(keyPosition("ArrowUp", 1, 3), 1);
  assert.equal(keyPosition("ArrowDown", 3, 3), 3);
  assert.equal(keyPosition("Home", 3, 3), 1);
  assert.equal(keyPosition("End", 1, 3), 3);
  assert.equal(keyPosition("Enter", 2, 3), null);
});

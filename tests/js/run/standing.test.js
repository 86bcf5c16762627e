import assert from "node:assert/strict";
import { test } from "node:test";

import { movesOf } from "../../../static/js/run/standing.js";

const at = (/** @type {number} */ position, /** @type {number} */ length) => movesOf({ words: [], position, length });

test("a run is offered the moves that its position in the queue allows", () => {
  assert.deepEqual(at(1, 3), ["queue_down"]);
  assert.deepEqual(at(2, 3), ["queue_first", "queue_up", "queue_down"]);
  assert.deepEqual(at(3, 3), ["queue_first", "queue_up"]);
  assert.deepEqual(at(1, 1), []);
});

test("a run that is not queued is offered none", () => {
  assert.deepEqual(at(0, 0), []);
});

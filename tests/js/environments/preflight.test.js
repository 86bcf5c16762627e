import assert from "node:assert/strict";
import { test } from "node:test";

import { shadesOf } from "../../../static/js/environments/preflight_matrix.js";

/** @import { PreflightProblem } from "../../../static/js/types.js" */

/**
 * @param {(number | null)[]} values
 * @returns {PreflightProblem}
 */
const problem = (...values) => ({
  seed: 0,
  solution: "unknown",
  length: null,
  mean: null,
  variance: null,
  difficulty: "",
  rollouts: values.map((value) => ({ value, success: false, turns: 1, malformed: 0, stop: "", error: "" })),
});

test("shades go from the lowest reward to the highest, over all problems", () => {
  const shade = shadesOf([problem(-1, 1, null), problem(0)]);
  assert.deepEqual([-1, 0, 1].map(shade), [0, 4, 8]);
});

test("where all rewards are equal, or there are none, the shade is the middle one", () => {
  assert.equal(shadesOf([problem(2, 2)])(2), 4);
  assert.equal(shadesOf([problem(null)])(0), 4);
});

// Charts of several axes have one range, so that their effects can be compared.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commonRange, describe } from "../../../static/js/sweeps/effect_chart.js";

/**
 * @param {string} axis
 * @param {[number, number | null, number | null][]} points mean, low and high
 */
const effect = (axis, points) => ({
  axis,
  drawn: false,
  log: false,
  points: points.map(([mean, low, high], index) => ({ label: String(index), mean, low, high, seeds: 2, runs: 2 })),
});

test("the range of shares holds all intervals and ends at 0 and 1", () => {
  // intervals from 0.4 to beyond 1: 0.12 * 0.6 = 0.072 of room below, and 1.01 above
  const effects = [effect("a", [[0.5, 0.4, 0.6]]), effect("b", [[0.9, 0.7, 1.3]])];
  const [low, high] = commonRange(effects, true) ?? [];
  assert.ok(Math.abs((low ?? 0) - 0.328) < 1e-9);
  assert.equal(high, 1.01);
});

test("the range of returns is not cut, and points without an interval count", () => {
  // from -1 to 4: 0.12 * 5 = 0.6 of room
  assert.deepEqual(commonRange([effect("a", [[-1, null, null]]), effect("b", [[3, 2, 4]])], false), [-1.6, 4.6]);
});

test("one value has room around it, and none has no range", () => {
  assert.deepEqual(commonRange([effect("a", [[0, null, null]])], false), [-0.12, 0.12]);
  assert.equal(commonRange([effect("a", [])], true), null);
});

test("a point says over how many seeds it is, and that they are equal where there is no interval", () => {
  const point = { label: "a", mean: 0.194, low: null, high: null, seeds: 2, runs: 4 };
  assert.equal(describe(point), "a: 0.194, 2 seeds, all equal, 4 runs");
  assert.equal(describe({ ...point, seeds: 1, runs: 1 }), "a: 0.194, 1 seed, 1 run");
  assert.equal(describe({ ...point, low: 0.1, high: 0.3 }), "a: 0.194 [0.100, 0.300], 2 seeds, 4 runs");
});

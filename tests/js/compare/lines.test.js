import assert from "node:assert/strict";
import { test } from "node:test";

import { pointAlong } from "../../../static/js/compare/metric_chart.js";
import { meanOverSeeds } from "../../../static/js/compare/seed_groups.js";

/** The 97.5% quantiles of t for 2, 3 and 4 values, that is 1, 2 and 3 degrees of freedom. */
const QUANTILES = [12.706, 4.303, 3.182];

const point = (/** @type {number} */ step, /** @type {number} */ y) => ({
  step,
  y,
  tokens: 10 * step,
  seconds: step,
  elapsed: step,
  time: step,
});
const curve = (/** @type {number[]} */ ...values) => values.map((y, i) => point(i + 1, y));

test("the mean of three seeds has a t interval", () => {
  const [first] = meanOverSeeds([curve(1), curve(2), curve(3)], 0, QUANTILES);
  assert.equal(first.y, 2);
  // std 1, so 4.303 · 1 / √3 = 2.4843
  assert.equal((first.high ?? 0).toFixed(3), "4.484");
  assert.equal((first.low ?? 0).toFixed(3), "-0.484");
  assert.equal(first.seeds, 3);
});

test("two seeds have no interval", () => {
  const [first] = meanOverSeeds([curve(1), curve(2)], 0, QUANTILES);
  assert.equal(first.low, undefined);
});

test("the line ends where the first seed ends", () => {
  const mean = meanOverSeeds([curve(1, 1, 1), curve(3, 3)], 0, QUANTILES);
  assert.deepEqual(
    mean.map(({ step, y }) => [step, y]),
    [
      [1, 2],
      [2, 2],
    ],
  );
});

test("a finer curve is interpolated at the steps of the coarsest", () => {
  const coarse = [point(1, 0), point(3, 4)];
  const fine = [point(1, 0), point(2, 1), point(4, 3)]; // at 3, halfway from 1 to 3: 2; its mean with 4 is 3
  assert.deepEqual(
    meanOverSeeds([coarse, fine], 0, QUANTILES).map(({ y }) => y),
    [0, 3],
  );
});

test("a seed without values leaves no mean", () => {
  assert.deepEqual(meanOverSeeds([curve(1), []], 0, QUANTILES), []);
});

test("the crosshair takes the nearest point of a line, and none beyond its ends", () => {
  const points = [1, 4, 5, 9].map((step) => point(step, step));
  assert.equal(pointAlong(points, 6, "step")?.step, 5);
  assert.equal(pointAlong(points, 7.1, "step")?.step, 9);
  assert.equal(pointAlong(points, 40, "tokens")?.step, 4);
  assert.equal(pointAlong(points, 10, "step"), null);
  assert.equal(pointAlong([], 1, "step"), null);
});

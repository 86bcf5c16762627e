import assert from "node:assert/strict";
import { test } from "node:test";

import { heldOutSignature, heldOutTraces } from "../../../static/js/charts/held_out_traces.js";
import { Curves } from "../../../static/js/charts/curves.js";

const NUMBERS = { environment: "Lake", success: 0.5, low: 0.4, high: 0.7, episodes: 90 };

/** @param {number} step */
const scheduled = (step) => ({
  kind: /** @type {const} */ ("evaluation_completed"),
  seq: step,
  time: step,
  step,
  ...NUMBERS,
});

/** @param {number} step @param {number} time @param {string} environment */
const requested = (step, time, environment = "Lake") => ({
  kind: /** @type {const} */ ("checkpoint_evaluated"),
  ...{ seq: 1000 + time, time, step },
  ...{ ...NUMBERS, success: 0.25, low: 0.2, high: 0.35, environment },
});

/** Steps 10 and 20 ended at 100 and 200 seconds of the clock. */
function curves() {
  const made = new Curves("/bands", 0, () => {});
  const at = (/** @type {number} */ step) => ({
    step,
    lineage: step,
    tokens: step,
    seconds: step,
    elapsed: step,
    time: 10 * step,
  });
  made.position = (step) => (step === 10 || step === 20 ? at(step) : null);
  return made;
}

const look = (/** @type {"step" | "time"} */ axis) => ({ view: { axis }, colour: "#abc" });

test("a requested evaluation is a ring with its interval at the step of its checkpoint", () => {
  const store = { curves: curves(), evaluations: [scheduled(20)], requestedEvaluations: [requested(10, 900)] };
  const [own, ring, ...others] = heldOutTraces(store, "Lake", look("step"));
  assert.deepEqual([others.length, own.x, own.y], [0, [20], [0.5]]);
  assert.deepEqual([ring.x, ring.y, ring.customdata], [[10], [0.25], [10]]);
  assert.equal(/** @type {{ symbol: string }} */ (ring.marker).symbol, "circle-open");
  const { array, arrayminus } = /** @type {{ array: number[], arrayminus: number[] }} */ (ring.error_y);
  assert.deepEqual(
    [array, arrayminus].flat().map((value) => Number(value.toFixed(9))),
    [0.1, 0.05],
  );
  assert.match(String(ring.name), /requested evaluation/);
});

test("on the axis of the clock it is where its step was, however late it was asked for", () => {
  const store = { curves: curves(), evaluations: [], requestedEvaluations: [requested(10, 900)] };
  const ring = heldOutTraces(store, "Lake", look("time"))[1];
  assert.equal(Number(ring.x[0]), 100_000); // second 100, and not 900
});

test("without requested evaluations of the environment there is no such trace", () => {
  const store = { curves: curves(), evaluations: [], requestedEvaluations: [requested(10, 900, "Bandit")] };
  assert.equal(heldOutTraces(store, "Lake", look("step")).length, 1);
});

test("a chart is drawn again for every new result, also one of a step that has one", () => {
  const before = { evaluations: [scheduled(10)], requestedEvaluations: [requested(10, 900)] };
  const after = { ...before, requestedEvaluations: [requested(10, 950)] };
  assert.notEqual(heldOutSignature(before), heldOutSignature(after));
});

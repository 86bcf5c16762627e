import assert from "node:assert/strict";
import { test } from "node:test";

import { evaluationAt, valueOf } from "../../../static/js/charts/chart_key.js";
import { xTicks } from "../../../static/js/charts/chart_layout.js";

const at = (/** @type {number} */ step) => ({ step, lineage: step, tokens: 0, seconds: 0, elapsed: 0, time: 0 });

test("a value has its step where that is not the crosshair's, and the extremes of a range of steps", () => {
  const point = { ...at(10), attempt: 1, y: 0.5 };
  assert.equal(valueOf(point, at(10)), "0.500");
  assert.equal(valueOf(point, at(12)), "0.500 at 10");
  assert.equal(valueOf(point, null), "0.500");
  assert.equal(valueOf({ ...point, first: 6, low: 0.25, high: 0.75 }, at(8)), "0.500 (0.250 to 0.750)");
  assert.equal(valueOf(undefined, at(8)), "");
});

test("the evaluation of a step is the last that is not after it", () => {
  const evaluations = [10, 20].map((step) => ({
    kind: /** @type {const} */ ("evaluation_completed"),
    ...{ seq: step, time: 0, step, environment: "Lake", success: 0.5, low: 0.4, high: 0.6, episodes: 9 },
  }));
  const stepOf = (/** @type {ReturnType<typeof at> | null} */ position) => evaluationAt(evaluations, position)?.step;
  assert.deepEqual([stepOf(at(5)), stepOf(at(10)), stepOf(at(19)), stepOf(null)], [undefined, 10, 10, 20]);
});

test("every step in view has its tick where there are few, and none has half a step", () => {
  const ends = { first: 1, last: 400, steps: 399 };
  assert.deepEqual(xTicks({ axis: "step", window: null }, ends), { tickformat: ",~f" });
  assert.deepEqual(xTicks({ axis: "step", window: [10.2, 12.8] }, ends), { tickformat: ",~f", tick0: 0, dtick: 1 });
  assert.equal(xTicks({ axis: "step", window: null }, { ...ends, last: 250_000 }).tickformat, "~s");
  assert.equal(xTicks({ axis: "seconds", window: [0, 1] }, ends).tickformat, ",~f"); // 0.5, and not 500m
});

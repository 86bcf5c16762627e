import assert from "node:assert/strict";
import { test } from "node:test";

import { meanPoints } from "../../../static/js/compare/group_curves.js";
import { linesOf } from "../../../static/js/compare/lines.js";
import { pointAlong } from "../../../static/js/compare/metric_chart.js";
import { stepsOf } from "../../../static/js/compare/regime_maps.js";

/** @import { ComparedRun } from "../../../static/js/compare/compared_runs.js" */
/** @import { CompareView } from "../../../static/js/compare/view_state.js" */

const point = (/** @type {number} */ step) => ({ step, y: step, tokens: 0, seconds: 0, elapsed: 0, time: 0 });
const view = (/** @type {Partial<CompareView>} */ changes) =>
  /** @type {CompareView} */ ({ hidden: [], axis: "step", ...changes });
const RUNS = /** @type {ComparedRun[]} */ (
  ["a", "b", "c"].map((id) => ({ id, name: id, colour: 1, dash: 0, seed: null }))
);
const GROUPS = [
  { name: "rate 1", members: [0, 2], colour: 4, dash: 0 },
  { name: "rate 2", members: [1], colour: 5, dash: 0 },
];

test("a group of several runs is one line, and says how many are shown", () => {
  const lines = linesOf(RUNS, GROUPS, view({ hidden: ["c"] }));
  assert.deepEqual(
    lines.map(({ name, isMean, colour }) => [name, isMean, colour]),
    [
      ["rate 1 (n = 1)", true, 4],
      ["rate 2 (n = 1)", false, 5],
    ],
  );
});

test("on an axis without a common position every run has its own line", () => {
  const lines = linesOf(RUNS, GROUPS, view({ axis: "time" }));
  assert.deepEqual(
    lines.map(({ name }) => name),
    ["a", "b", "c"],
  );
});

test("points of a group know whether all of its runs have a value", () => {
  const points = meanPoints({
    steps: [1, 2, 3],
    mean: [0.5, null, 0.75],
    low: [0.25, null, null],
    high: [0.75, null, null],
    count: [2, 0, 1],
    tokens: [10, null, null],
    seconds: [1, null, null],
    elapsed: [1, null, null],
  });
  assert.deepEqual(
    points.map(({ step, y, count, whole }) => [step, y, count, whole]),
    [
      [1, 0.5, 2, true],
      [3, 0.75, 1, false],
    ],
  );
  assert.ok(Number.isNaN(points[1].tokens));
});

test("only steps with every reading are on a regime map", () => {
  const series = {
    "collapse/conditional_entropy": [1, null],
    "collapse/mi_ratio": [0.5, 0.5],
    "collapse/valid_thought_rate": [1, 1],
  };
  assert.deepEqual(
    stepsOf({ steps: [5, 6], series }).map(({ step }) => step),
    [5],
  );
  assert.deepEqual(stepsOf(null), []);
});

test("the crosshair takes the nearest point of a line, and none beyond its ends", () => {
  const points = [1, 4, 5, 9].map(point);
  assert.equal(pointAlong(points, 6, "step")?.step, 5);
  assert.equal(pointAlong(points, 10, "step"), null);
});

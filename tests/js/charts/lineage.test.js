import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Lineage, forkMarks } from "../../../static/js/charts/lineage.js";

/** @type {string[]} */
let requested = [];
/** @type {(() => void) | undefined} */
let answered;

const bands = {
  steps: [10, 20],
  tokens: [1, 2],
  seconds: [1, 2],
  times: [1, 2],
  elapsed: [1, 2],
  attempts: [1, 1],
  thinned: false,
  spans: [[10, 20, 10]],
  series: { success: { mean: [0.3, 0.4], low: [], high: [] } },
  last_seq: 2,
};

beforeEach(() => {
  requested = [];
  globalThis.fetch = async (address) => {
    requested.push(String(address));
    return new Response(JSON.stringify(bands), { headers: { "Content-Type": "application/json" } });
  };
});

/** Forked at step 20 of `b`, which was forked at step 30 of `a`. */
const FACTS = {
  before: 50,
  ancestors: [
    { id: "a", name: "a<b>", upto: 30, before: 0 },
    { id: "b", name: "b", upto: 20, before: 30 },
  ],
};

const loaded = () => new Promise((resolve) => (answered = () => resolve(undefined)));

test("an ancestor's curve is requested up to the fork, once the axis is that of the lineage", async () => {
  const lineage = new Lineage(FACTS, () => answered?.());
  lineage.want(["success"], "step", null);
  assert.deepEqual(requested, []);
  const wait = loaded();
  lineage.want(["success"], "lineage", null);
  await wait;
  assert.deepEqual(requested, [
    "/api/v1/runs/a/bands?keys=success&buckets=2000&to=30",
    "/api/v1/runs/a/outline",
    "/api/v1/runs/b/bands?keys=success&buckets=2000&to=20",
    "/api/v1/runs/b/outline",
  ]);
});

test("points are at the steps of the lineage, each with the name of its run", async () => {
  const lineage = new Lineage(FACTS, () => answered?.());
  lineage.want(["success"], "lineage", null);
  await loaded();
  await new Promise(setImmediate);
  assert.deepEqual(
    lineage.points("success", "lineage").map(({ of, lineage: at, y }) => [of, at, y]),
    [
      ["a<b>", 10, 0.3],
      ["a<b>", 20, 0.4],
      ["b", 40, 0.3],
      ["b", 50, 0.4],
    ],
  );
  assert.deepEqual(lineage.points("success", "tokens"), []);
  const others = lineage.points("success", "lineage", ["b"]); // `b` has a line of its own
  assert.deepEqual(
    others.map(({ of }) => of),
    ["a<b>", "a<b>"],
  );
});

test("each fork is marked where it begins", () => {
  const { forks } = new Lineage(FACTS, () => {});
  assert.deepEqual(
    forks.map(({ at }) => at),
    [30, 50],
  );
  const css = () => "#888";
  const marks = forkMarks({ forks, view: { axis: "lineage" }, css });
  assert.deepEqual(
    marks.annotations.map(({ x, hovertext }) => [x, hovertext]),
    [
      [30, "forked from a&lt;b&gt; at step 30"],
      [50, "forked from b at step 20"],
    ],
  );
  assert.deepEqual(forkMarks({ forks, view: { axis: "step" }, css }).shapes, []);
});

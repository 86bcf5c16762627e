import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Curves } from "../../../static/js/charts/curves.js";
import { SparseCurves } from "../../../static/js/charts/sparse_curves.js";

/** @import { Bands, RunStarted, StepCompleted } from "../../../static/js/types.js" */

/** @type {{ address: string, answer: (body: Bands | null) => Promise<void> }[]} requests of the code under test */
let requests = [];

beforeEach(() => {
  requests = [];
  globalThis.fetch = (address) =>
    new Promise((resolve) => {
      const answer = async (/** @type {Bands | null} */ body) => {
        resolve(/** @type {Response} */ ({ ok: body !== null, redirected: false, json: async () => body }));
        await new Promise(setImmediate);
      };
      requests.push({ address: decodeURIComponent(String(address)), answer });
    });
});

/**
 * The server's answer for `steps`: a token count of 100 a step, 2 s a step, values equal to the step.
 * @param {number[]} steps
 * @param {string[]} keys
 * @param {Partial<Bands>} [more]
 * @returns {Bands}
 */
function bands(steps, keys, more = {}) {
  return {
    steps,
    tokens: steps.map((step) => 100 * step),
    seconds: steps.map((step) => 2 * step),
    times: steps.map((step) => 1000 + 2 * step),
    elapsed: steps.map((step) => 2 * step),
    attempts: steps.map(() => 1),
    thinned: false,
    spans: steps.length ? [[steps[0], steps[steps.length - 1], 1]] : [],
    series: Object.fromEntries(keys.map((key) => [key, { mean: steps, low: [], high: [] }])),
    last_seq: steps.length,
    ...more,
  };
}

/**
 * @param {number} step
 * @param {Record<string, number>} metrics
 * @returns {StepCompleted}
 */
const completed = (step, metrics, attempt = 1) => ({
  kind: "step_completed",
  seq: 100 + step,
  step,
  time: 1000 + 2 * step,
  tokens: 100 * step,
  seconds: 2 * step,
  attempt,
  metrics,
});

/** @returns {RunStarted} */
const resumed = (/** @type {number} */ from, attempt = 2) => ({
  kind: "run_started",
  seq: 200,
  time: 2000,
  attempt,
  resumed_from: from,
});

/** @param {Curves} curves @param {string} key */
const stepsOf = (curves, key) => curves.points(key).map(({ step }) => step);

test("a curve is requested once, however often a chart asks for it", async () => {
  const curves = new Curves("/bands", 10, () => {});
  curves.want(["a"]);
  curves.want(["a"]);
  assert.equal(requests.length, 1);
  assert.equal(curves.isWaiting, true);
  await requests[0].answer(bands([1, 2], ["a"]));
  curves.want(["a"]);
  assert.equal(requests.length, 1);
  assert.equal(curves.isLoaded("a"), true);
});

test("metrics are requested eight to a request", () => {
  new Curves("/bands", 10, () => {}).want(Array.from({ length: 17 }, (_, i) => `m${i}`));
  assert.equal(requests.length, 3); // 8 + 8 + 1
});

test("a short run is requested whole, a long one in 600 buckets", () => {
  new Curves("/bands", 2000, () => {}).want(["a"]);
  new Curves("/bands", 2001, () => {}).want(["a"]);
  assert.match(requests[0].address, /buckets=2000/);
  assert.match(requests[1].address, /buckets=600/);
});

test("new steps extend a curve, and one that is known already does not", async () => {
  const curves = new Curves("/bands", 10, () => {});
  curves.want(["a"]);
  await requests[0].answer(bands([1, 2], ["a"]));
  curves.add(completed(3, { a: 0.5 }));
  curves.add(completed(2, { a: 0.1 }));
  assert.deepEqual(
    curves.points("a").map(({ y }) => y),
    [1, 2, 0.5],
  );
  assert.equal(curves.length, 3);
});

test("steps that come while a curve is requested are appended to the answer", async () => {
  const curves = new Curves("/bands", 10, () => {});
  curves.want(["a"]);
  curves.add(completed(3, { a: 3 }));
  curves.add(completed(4, { a: 4 }));
  await requests[0].answer(bands([1, 2, 3], ["a"]));
  assert.deepEqual(stepsOf(curves, "a"), [1, 2, 3, 4]);
});

test("time that passed between attempts does not count as elapsed", async () => {
  const curves = new Curves("/bands", 10, () => {});
  curves.want(["a"]);
  await requests[0].answer(bands([1, 2], ["a"]));
  curves.begin({ ...resumed(2), time: 5000 });
  curves.add({ ...completed(3, { a: 3 }, 2), time: 5007 });
  assert.equal(curves.positions.at(-1)?.elapsed, 4 + 7); // step 2 at 4 s, then 7 s since the engine started again
});

test("a resumed run drops later steps and requests its curves again", async () => {
  const curves = new Curves("/bands", 10, () => {});
  curves.want(["a"]);
  await requests[0].answer(bands([1, 2, 3, 4], ["a"]));
  curves.begin(resumed(2));
  assert.deepEqual(stepsOf(curves, "a"), [1, 2]);
  curves.want(["a"]);
  assert.equal(requests.length, 2);
});

test("an answer that does not know of the new attempt is discarded", async () => {
  const curves = new Curves("/bands", 10, () => {});
  curves.want(["a"]);
  curves.begin(resumed(2));
  await requests[0].answer(bands([1, 2, 3], ["a"])); // attempt 1, up to a step after the resumption
  assert.equal(curves.isLoaded("a"), false);
  curves.want(["a"]);
  await requests[1].answer(bands([1, 2, 3], ["a"], { attempts: [1, 1, 2] }));
  assert.deepEqual(stepsOf(curves, "a"), [1, 2, 3]);
});

test("zooming requests a thinned curve for the window and merges its points", async () => {
  const curves = new Curves("/bands", 5000, () => {});
  curves.want(["a"]);
  await requests[0].answer(bands([10, 20, 30, 40], ["a"], { thinned: true, spans: [[1, 40, 1]] }));
  curves.zoom(["a"], "step", [20, 30]);
  await new Promise((resolve) => setTimeout(resolve, 130)); // the window settles for 120 ms
  assert.match(requests[1].address, /from=20&to=30/);
  await requests[1].answer(bands([20, 25, 30], ["a"]));
  assert.deepEqual(stepsOf(curves, "a"), [10, 20, 25, 30, 40]);
  curves.zoom(["a"], "step", null);
  assert.deepEqual(stepsOf(curves, "a"), [10, 20, 30, 40]);
});

test("a curve that is not thinned is not requested again for a window", async () => {
  const curves = new Curves("/bands", 10, () => {});
  curves.want(["a"]);
  await requests[0].answer(bands([1, 2, 3], ["a"]));
  curves.zoom(["a"], "step", [1, 2]);
  await new Promise((resolve) => setTimeout(resolve, 130));
  assert.equal(requests.length, 1);
});

test("curves in different buckets are requested together before they are read step by step", async () => {
  const curves = new Curves("/bands", 5000, () => {});
  curves.want(["a"]);
  await requests[0].answer(bands([10, 20], ["a"], { thinned: true }));
  curves.want(["b"]);
  await requests[1].answer(bands([15, 30], ["b"], { thinned: true }));
  assert.equal(curves.wantTogether(["a", "b"]), false);
  assert.match(requests[2].address, /keys=a,b&buckets=600&to=30/);
  await requests[2].answer(bands([10, 20, 30], ["a", "b"], { thinned: true }));
  assert.equal(curves.wantTogether(["a", "b"]), true);
  assert.deepEqual(curves.table(["a", "b"]).at(-1)?.metrics, { a: 30, b: 30 });
});

test("a metric of fewer than half of the steps is sparse", async () => {
  const curves = new Curves("/bands", 10, () => {});
  curves.want(["a", "b"]);
  const steps = [1, 2, 3, 4, 5];
  const series = {
    a: { mean: [1, null, null, null, 5], low: [], high: [] }, // 2 of 5
    b: { mean: [1, null, 3, null, 5], low: [], high: [] }, // 3 of 5
  };
  await requests[0].answer(bands(steps, [], { series }));
  assert.deepEqual([curves.isSparse("a"), curves.isSparse("b")], [true, false]);
});

test("sparse curves take only the steps that have one of their metrics", () => {
  const all = new Curves("/bands", 10, () => {});
  const curves = new SparseCurves(all, ["d"]);
  curves.add(completed(1, { a: 1 }));
  curves.add(completed(2, { d: 1 }));
  assert.deepEqual(
    curves.positions.map(({ step }) => step),
    [2],
  );
});

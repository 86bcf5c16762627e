import assert from "node:assert/strict";
import { test } from "node:test";

import { withoutPatterns } from "../../../static/js/charts/chart_patterns.js";

const titled = { title: "Use by device", names: ["gpu/share/device/*"] };
const each = (/** @type {string} */ name) => ({ title: "", names: [name] });

test("a pattern without a title is a chart for each metric that no other chart has", () => {
  const charts = [{ title: "Loss", names: ["policy/loss"] }, each("policy/*")];
  const made = withoutPatterns(charts, ["policy/kl", "policy/loss", "optim/rate", "policy/entropy"]);
  assert.deepEqual(made, [charts[0], each("policy/entropy"), each("policy/kl")]);
});

test("a pattern with a title is one chart, and its metrics are not matched again", () => {
  const keys = ["gpu/share", "gpu/share/device/sampler_10", "gpu/share/device/sampler_2", "gpu/share/device/learner_0"];
  const lines = ["learner_0", "sampler_2", "sampler_10"].map((name) => `gpu/share/device/${name}`);
  assert.deepEqual(withoutPatterns([titled, each("gpu/*")], keys), [{ ...titled, names: lines }, each("gpu/share")]);
  assert.deepEqual(withoutPatterns([titled], ["gpu/share"]), []);
});

test("more lines than colours are several charts", () => {
  const keys = Array.from({ length: 9 }, (_, i) => `gpu/share/device/sampler_${i}`);
  const made = withoutPatterns([titled], keys);
  assert.deepEqual(
    made.map(({ title, names }) => [title, names.length]),
    [
      ["Use by device (1 of 2)", 8],
      ["Use by device (2 of 2)", 1],
    ],
  );
});

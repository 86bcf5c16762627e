import assert from "node:assert/strict";
import test from "node:test";

import { describeRegime, readings } from "../../../static/js/run/regimes.js";

const TEXTS = {
  diverse: { title: "Diverse reasoning", description: "thoughts vary and depend on their prompt" },
  template_collapse: { title: "Template collapse", description: "thoughts vary but hardly depend on their prompt" },
};
const COLUMNS = {
  borders: { entropy: 5, blow_up: 15, mutual_information: 0.3, valid_thoughts: 0.9 },
  steps: [1, 6, 11],
  regimes: ["diverse", "template_collapse", "template_collapse"],
  format_broken: [false, false, true],
  explanation: "",
};
const STEPS = [1, 6, 11, 16].map((step) => ({
  step,
  metrics: {
    "collapse/mi_ratio": 0.5,
    "collapse/conditional_entropy": 10,
    "collapse/valid_thought_rate": 0.8,
  },
}));

test("steps have the regimes that the server gives, and those without one are left out", () => {
  const found = readings(/** @type {any} */ (STEPS), "thought", COLUMNS);
  assert.deepEqual(
    found.map(({ step, regime, broken }) => [step, regime, broken]),
    [
      [1, "diverse", false],
      [6, "template_collapse", false],
      [11, "template_collapse", true],
    ],
  );
  assert.deepEqual(readings(/** @type {any} */ (STEPS), "token", COLUMNS), []);
});

test("a regime is described with its first step and the one before", () => {
  const found = readings(/** @type {any} */ (STEPS), "thought", COLUMNS);
  assert.equal(
    describeRegime(found, found[0], TEXTS),
    "Diverse reasoning at step 1: thoughts vary and depend on their prompt.",
  );
  assert.equal(
    describeRegime(found, found[2], TEXTS),
    "Template collapse since step 6, after diverse reasoning: thoughts vary but hardly depend on their prompt. " +
      "The format is breaking: 80.0% of turns have a thought.",
  );
});

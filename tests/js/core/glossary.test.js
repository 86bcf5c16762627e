import assert from "node:assert/strict";
import { test } from "node:test";

const GLOSSARY = {
  "policy/entropy": { name: "policy/entropy", title: "Policy entropy", meaning: "…", section: "policy" },
  "env/<tag>/success": { name: "env/<tag>/success", title: "Success in <tag>", meaning: "…", section: "environment" },
  "env/<tag>/<name>": { name: "env/<tag>/<name>", title: "<tag>: <name>", meaning: "…", section: "environment" },
};
Object.assign(globalThis, { document: { getElementById: () => ({ textContent: JSON.stringify(GLOSSARY) }) } });
const { describe } = await import("../../../static/js/core/glossary.js");
const { problemsOf } = await import("../../../static/js/core/requests.js");

test("a metric is described by its entry, or by the one of its pattern", () => {
  assert.equal(describe("policy/entropy").title, "Policy entropy");
  const { name, title, section } = describe("env/Frozen Lake/success");
  assert.deepEqual(
    { name, title, section },
    { name: "env/Frozen Lake/success", title: "Success in Frozen Lake", section: "environment" },
  );
});

test("a number of an environment is described by its words, behind any slash of the tag", () => {
  assert.equal(describe("env/2048/4x4/best_tile").title, "2048/4x4: best tile");
  assert.equal(describe("env/2048/4x4/success").title, "Success in 2048/4x4");
});

test("a metric without an entry is described by its name", () => {
  const { title, section } = describe("mine/my_metric");
  assert.deepEqual({ title, section }, { title: "my metric", section: "mine" });
});

test("the problems of an answer are one line with the fields named", () => {
  const errors = { __all__: ["No path."], "parameters.map_size": ["Too small.", "Odd."] };
  assert.equal(problemsOf({ errors }), "No path. map size: Too small. map size: Odd.");
  assert.equal(problemsOf({}), "");
});

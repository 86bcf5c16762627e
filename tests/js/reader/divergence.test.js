import assert from "node:assert/strict";
import { test } from "node:test";

import { describe, divergence, otherWords } from "../../../static/js/reader/divergence.js";

/** @param {...[response: string, ...executed: string[]]} given */
const turns = (...given) => given.map(([response, ...executed]) => ({ response, executed }));

test("the first other action is the divergence, whatever the words before it", () => {
  const own = turns(["x", "Up"], ["y", "Up", "Left"], ["z", "Up"]);
  const other = turns(["q", "Up"], ["y", "Up", "Down"], ["z", "Down"]);
  assert.deepEqual(divergence(own, other), { turn: 2, index: 1, own: "Left", other: "Down" });
  assert.equal(otherWords(own, other), 1);
  assert.equal(describe({ turn: 2, index: 1, own: "Left", other: "Down" }), "Down, not Left");
});

test("other words for the same actions are no divergence", () => {
  const own = turns(["x", "Up"], ["y", "Left"]);
  assert.equal(divergence(own, turns(["x", "Up"], ["other", "Left"])), null);
  assert.equal(otherWords(own, turns(["x", "Up"], ["other", "Left"])), 2);
  assert.equal(otherWords(own, own), null);
});

test("an action more, an action less and no action differ", () => {
  assert.deepEqual(divergence(turns(["x", "Up"]), turns(["x", "Up", "Up"])), {
    turn: 1,
    index: 1,
    own: "",
    other: "Up",
  });
  assert.deepEqual(divergence(turns(["x", "Up"]), turns(["x"])), { turn: 1, index: 0, own: "Up", other: "" });
  assert.equal(divergence(turns(["x"]), turns(["y"])), null);
  assert.equal(describe({ turn: 1, index: 0, own: "Up", other: "" }), "no action, not Up");
  assert.equal(describe({ turn: 1, index: 0, own: "", other: "Up" }), "Up, where this one has no action");
});

test("one that has ended diverges where the other goes on", () => {
  const [long, short] = [turns(["x", "Up"], ["y", "Left"]), turns(["x", "Up"])];
  assert.deepEqual(divergence(long, short), { turn: 2, index: 0, own: "Left", other: null });
  assert.deepEqual(divergence(short, long), { turn: 2, index: 0, own: null, other: "Left" });
  assert.equal(describe({ turn: 2, index: 0, own: "Left", other: null }), "it has ended");
  assert.equal(describe({ turn: 2, index: 0, own: null, other: "Left" }), "this one has ended");
});

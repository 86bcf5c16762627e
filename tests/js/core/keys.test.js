import assert from "node:assert/strict";
import { test } from "node:test";

import { opensPalette, shortcut, withModifier } from "../../../static/js/core/keys.js";

const press = (/** @type {string} */ key, more = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
});

test("a letter goes to a page only shortly after g", () => {
  assert.deepEqual(shortcut("r", 300), { address: "/runs/" });
  assert.equal(shortcut("r", 1200), null);
  assert.deepEqual(shortcut("t", 300), { address: "/trajectories/" });
  assert.deepEqual(shortcut("t", 5000), { action: "theme" });
});

test("? shows the shortcuts, / goes to the filter, others do nothing", () => {
  assert.deepEqual(shortcut("?", Infinity), { action: "help" });
  assert.deepEqual(shortcut("/", Infinity), { action: "filter" });
  assert.equal(shortcut("x", Infinity), null);
  assert.equal(shortcut("constructor", 0), null);
});

test("Ctrl or Cmd K opens the palette, with Caps Lock as well", () => {
  assert.equal(opensPalette(press("k", { ctrlKey: true })), true);
  assert.equal(opensPalette(press("K", { metaKey: true })), true);
  assert.equal(opensPalette(press("k")), false);
  assert.equal(withModifier(press("k", { altKey: true })), true);
});

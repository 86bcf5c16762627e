import assert from "node:assert/strict";
import { test } from "node:test";

import { readPosition, writePosition } from "../../../static/js/reader/address.js";

const read = (/** @type {string} */ text) =>
  readPosition(/** @type {Location} */ (/** @type {unknown} */ (new URL(text, "http://host/"))));

test("an address names a turn, a token and a colour", () => {
  assert.deepEqual(read("#t=2&k=17&by=entropy"), { view: "turn", turn: 2, token: 17, shade: "entropy" });
  assert.deepEqual(read("?turn=3"), { view: "turn", turn: 3, token: null, shade: "" });
});

test("an address names the view", () => {
  assert.deepEqual(read("#view=transcript&t=3"), { view: "transcript", turn: 3, token: null, shade: "" });
  assert.equal(read("#view=film&t=3").view, "turn");
});

test("parts that make no sense are left out", () => {
  assert.deepEqual(read("#t=two&k=-1&by=beauty"), { view: "turn", turn: null, token: null, shade: "" });
});

test("the position is written to the address, and turn and colour to the links", () => {
  let written = "";
  Object.assign(globalThis, {
    location: { href: "http://host/a?turn=1&q=x" },
    history: {
      replaceState: (/** @type {unknown} */ _state, /** @type {string} */ _title, /** @type {URL} */ next) =>
        (written = next.href),
    },
  });
  const link = /** @type {HTMLAnchorElement} */ ({ href: "http://host/b#t=9" });
  writePosition({ view: "turn", turn: 2, token: 5, shade: "mask" }, [link]);
  assert.equal(written, "http://host/a?q=x#t=2&k=5&by=mask");
  assert.equal(link.href, "http://host/b#t=2&by=mask");
  writePosition({ view: "transcript", turn: 4, token: null, shade: "" }, [link]);
  assert.equal(written, "http://host/a?q=x#view=transcript&t=4");
  assert.equal(link.href, "http://host/b#view=transcript&t=4");
});

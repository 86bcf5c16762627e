import assert from "node:assert/strict";
import { test } from "node:test";

import { splitAtLast } from "../../../static/js/environments/suggestions.js";

test("a suggestion replaces what there is of the last action", () => {
  assert.deepEqual(splitAtLast("cli", "||"), ["", "cli"]);
  assert.deepEqual(splitAtLast("click[a] || cli", "||"), ["click[a] || ", " cli"]);
  assert.deepEqual(splitAtLast("click[a]||", "||"), ["click[a]|| ", ""]);
});

test("where the whole text is one action, all of it is replaced", () => {
  assert.deepEqual(splitAtLast("go || east", null), ["", "go || east"]);
});

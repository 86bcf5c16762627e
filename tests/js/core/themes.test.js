import assert from "node:assert/strict";
import { test } from "node:test";

import { nextTheme } from "../../../static/js/core/themes.js";

for (const [systemIsDark, other, same] of /** @type {[boolean, string, string][]} */ ([
  [false, "dark", "light"],
  [true, "light", "dark"],
])) {
  test(`the first press changes what is seen on a ${same} system, and all three themes are reached`, () => {
    assert.equal(nextTheme("system", systemIsDark), other);
    assert.equal(nextTheme(other, systemIsDark), same);
    assert.equal(nextTheme(same, systemIsDark), "system");
  });
}

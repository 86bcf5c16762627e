import assert from "node:assert/strict";
import { test } from "node:test";

import { fixText } from "../../../static/js/forms/fields.js";

test("the number of fields to fix is in the singular or the plural", () => {
  assert.equal(fixText(1, []), "Fix 1 field.");
  assert.equal(fixText(3, []), "Fix 3 fields.");
});

test("an error that no field of the form has is shown with its name", () => {
  const others = /** @type {[string, string][]} */ ([
    ["environments.2", "missing"],
    ["", "The run has ended."],
  ]);
  assert.equal(fixText(2, others), "Fix 1 field. environments.2: missing The run has ended.");
  assert.equal(fixText(1, [["", "The run has ended."]]), "The run has ended.");
});

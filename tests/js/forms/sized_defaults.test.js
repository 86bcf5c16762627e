import assert from "node:assert/strict";
import { test } from "node:test";

import { untouched } from "../../../static/js/forms/sized_defaults.js";

const rate = { field: "optimizer.learning_rate", label: "Learning rate", value: "1e-06" };
const tokens = { field: "response_tokens", label: "Tokens per response", value: "400" };

test("a field with the preset's value may be filled in, and one that the user set may not", () => {
  const values = new Map([
    [rate.field, { value: "0.0002", preset: "0.0002" }],
    [tokens.field, { value: "64", preset: "" }],
  ]);
  const read = (/** @type {string} */ field) => values.get(field) ?? null;
  assert.deepEqual(untouched([rate, tokens], read, new Map()), [rate]);
});

test("a value that was filled in for another size may be replaced, until the user changes it", () => {
  const read = () => ({ value: "1e-05", preset: "0.0002" });
  assert.deepEqual(untouched([rate], read, new Map([[rate.field, "1e-05"]])), [rate]);
  assert.deepEqual(untouched([rate], read, new Map([[rate.field, "1e-04"]])), []);
});

test("a field that the form does not have is left out", () => {
  assert.deepEqual(
    untouched([rate], () => null, new Map()),
    [],
  );
});

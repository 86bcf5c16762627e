// What a button sends, and what it hears of an answer or of none.

import assert from "node:assert/strict";
import test from "node:test";

import { postFields } from "../../../static/js/core/requests.js";

/** @type {any} */
const everywhere = globalThis;
everywhere.HTMLInputElement = class {};
everywhere.document = { querySelectorAll: () => [{ value: "the token" }] };

test("fields are posted with the token of the page's forms, and the answer is returned", async () => {
  /** @type {any[]} */
  const calls = [];
  everywhere.fetch = async (/** @type {any[]} */ ...call) => {
    calls.push(call);
    return new Response(JSON.stringify({ error: "", state: "paused" }), { status: 409 });
  };
  assert.deepEqual(await postFields("/x/", { action: "pause" }, "nobody"), { error: "", state: "paused" });
  const [[address, { method, body, headers }]] = calls;
  assert.deepEqual(
    [address, method, String(body), headers["X-CSRFToken"]],
    ["/x/", "POST", "action=pause", "the token"],
  );
});

test("without an answer in JSON the error is that of the caller", async () => {
  everywhere.fetch = async () => new Response("<h1>Bad gateway</h1>", { status: 502 });
  assert.deepEqual(await postFields("/x/", {}, "nobody"), { error: "nobody" });
  everywhere.fetch = async () => Promise.reject(new TypeError("Failed to fetch"));
  assert.deepEqual(await postFields("/x/", {}, "nobody"), { error: "nobody" });
});

// Requests of several runs in one turn of the event loop are sent as one.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { bandsOf, outlineOf } from "../../../static/js/compare/batches.js";

const before = globalThis.fetch;
/** @type {string[]} */
let asked = [];

beforeEach(() => {
  asked = [];
  globalThis.fetch = async (address) => {
    asked.push(String(address));
    const ids = new URL(String(address), "http://localhost").searchParams.get("runs") ?? "";
    const runs = Object.fromEntries(ids.split(",").flatMap((id) => (id === "gone" ? [] : [[id, { of: id }]])));
    return Response.json({ runs });
  };
});

afterEach(() => {
  globalThis.fetch = before;
});

test("each run gets its part of one answer, and one that does not exist nothing", async () => {
  const answers = await Promise.all(["a", "gone", "b"].map((run) => bandsOf(run, "keys=m&buckets=300", 1)));
  assert.deepEqual(answers, [{ of: "a" }, null, { of: "b" }]);
  assert.deepEqual(asked, ["/api/v1/bands?runs=a,gone,b&keys=m&buckets=300"]);
});

test("what differs in its query is asked separately, and later requests are new ones", async () => {
  await Promise.all([bandsOf("a", "keys=m", 1), bandsOf("b", "keys=n", 1), outlineOf("a"), outlineOf("b")]);
  await bandsOf("a", "keys=m", 1);
  assert.deepEqual(asked, [
    "/api/v1/bands?runs=a&keys=m",
    "/api/v1/bands?runs=b&keys=n",
    "/api/v1/outlines?runs=a,b",
    "/api/v1/bands?runs=a&keys=m",
  ]);
});

test("of 24 metrics a request has 20 runs", async () => {
  await Promise.all(Array.from({ length: 45 }, (_, index) => bandsOf(`r${index}`, "keys=m", 24)));
  assert.deepEqual(
    asked.map((address) => address.split(",").length),
    [20, 20, 5],
  );
});

test("without an answer every run gets nothing", async () => {
  globalThis.fetch = async () => new Response("", { status: 500 });
  assert.deepEqual(await Promise.all([outlineOf("a"), outlineOf("b")]), [null, null]);
});

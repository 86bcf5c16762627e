import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const ROOT = new URL("../../../static/js/", import.meta.url);
const modulesOf = (/** @type {string} */ folder) =>
  readdirSync(new URL(`${folder}/`, ROOT)).filter((name) => name.endsWith(".js"));
const entries = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const folders = [...entries.map(({ name }) => name), "run/tabs"].filter((folder) => modulesOf(folder).length);

for (const folder of folders) {
  test(`the index of ${folder} lists every module of the folder and no other`, () => {
    const index = readFileSync(new URL(`${folder}/README.md`, ROOT), "utf8");
    const listed = [...index.matchAll(/^\| `([a-z_]+\.js)` \| \S/gm)].map(([, name]) => name);
    assert.deepEqual(listed, modulesOf(folder).sort());
  });
}

test("a module begins with a comment that says what it is", () => {
  const modules = folders.flatMap((folder) => modulesOf(folder).map((name) => `${folder}/${name}`));
  assert.ok(modules.length > 90);
  assert.deepEqual(
    modules.filter((name) => !/^\/\/ \S/.test(readFileSync(new URL(name, ROOT), "utf8"))),
    [],
  );
});

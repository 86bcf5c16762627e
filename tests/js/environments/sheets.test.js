import assert from "node:assert/strict";
import { test } from "node:test";

import { changeOfCards, describeCards } from "../../../static/js/environments/board_cards.js";
import { changeOfPage, describePage } from "../../../static/js/environments/board_page.js";
import { changeOfTable, describeTable } from "../../../static/js/environments/board_table.js";
import { changeOfText, describeText, isPicture } from "../../../static/js/environments/board_text.js";

/** @import { Drawing } from "../../../static/js/types.js" */

const TABLE = { type: "table", columns: ["name", "age"], rows: [["Ada", "36"]], caption: "People" };
const TILES = {
  type: "table",
  columns: [],
  rows: [
    ["2", ""],
    ["", "4"],
  ],
};
const CARDS = {
  type: "cards",
  cards: [
    { title: "left", text: "", state: "normal" },
    { title: "right", text: "pays 1", state: "chosen" },
  ],
};
const PAGE = { type: "page", title: "Shop", blocks: [{ kind: "button", text: ["Buy", "Back"] }] };

test("text is described by its lines, and its change by what is new", () => {
  const text = { type: "text", text: "one\ntwo" };
  assert.equal(describeText({ type: "text", text: "only  this" }), "only this");
  assert.equal(describeText(text), "2 lines of text: one two");
  assert.equal(changeOfText(text, { type: "text", text: "one\nthree" }), "New: three.");
  assert.equal(changeOfText(text, { type: "text", text: "one" }), "Lines were removed.");
  assert.equal(changeOfText(text, text), "Nothing changed.");
});

test("lines of equal length are a picture, prose is not", () => {
  assert.equal(isPicture(["#####", "#_P_#", "#####"]), true);
  assert.equal(isPicture(["Reach 24 with these numbers:", "3, 5, 7", "", "", ""]), false);
});

test("a table is described by its caption and size, and its change by cells", () => {
  assert.equal(describeTable(TABLE), "People: table of 1 row and 2 columns");
  assert.equal(describeTable(TILES), "table of 2 rows and 2 columns");
  const older = { ...TABLE, rows: [["Ada", "37"]] };
  assert.equal(changeOfTable(TABLE, older), "Changed: row 1, age: 36 → 37.");
  const moved = {
    ...TILES,
    rows: [
      ["2", "4"],
      ["", ""],
    ],
  };
  assert.equal(changeOfTable(TILES, moved), "Changed: row 1, column 2: empty → 4; row 2, column 2: 4 → empty.");
  assert.equal(changeOfTable(TABLE, { ...TABLE, rows: [] }), "Changed: 1 row removed.");
});

test("cards are described with their states, and their change by what became of each", () => {
  assert.equal(describeCards(CARDS), "2 cards: left; right (chosen)");
  const [left, right] = CARDS.cards;
  assert.equal(
    changeOfCards(CARDS, { ...CARDS, cards: [{ ...left, state: "bad" }, right] }),
    "Changed: left: normal → bad.",
  );
  assert.equal(changeOfCards(CARDS, CARDS), "Nothing changed.");
});

test("a page is described by its title, and its change by another title or new blocks", () => {
  assert.equal(describePage(PAGE), "page Shop, 1 block");
  assert.equal(changeOfPage(PAGE, { ...PAGE, title: "Cart" }), "Another page: Cart.");
  assert.equal(
    changeOfPage(PAGE, { ...PAGE, blocks: [...PAGE.blocks, { kind: "text", text: "Sold out" }] }),
    "New: Sold out.",
  );
});

test("of fields of the wrong type there is no drawing", () => {
  const wrong = (/** @type {object} */ drawing) => /** @type {Drawing} */ (drawing);
  assert.equal(describeTable(wrong({ ...TABLE, rows: [[1, 2]] })), "no drawing");
  assert.equal(describeCards(wrong({ ...CARDS, cards: [{ title: 1 }] })), "no drawing");
  assert.equal(describePage(wrong({ ...PAGE, blocks: [{ kind: "image", text: "" }] })), "no drawing");
});

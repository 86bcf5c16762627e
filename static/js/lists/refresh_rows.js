// Replaces the rows of a list by newer ones. Rows that have not changed stay, and the focus stays where it was.

import { findAll } from "../core/dom.js";

const FOCUSABLE = "a, button, input, select, summary";

/** @typedef {(row: HTMLElement) => string | null | undefined} KeyOf identifies a row */

/**
 * @param {Element} list
 * @param {HTMLElement[]} rows
 * @param {KeyOf} keyOf
 */
export function refreshRows(list, rows, keyOf) {
  const former = findAll(list, ":scope > *");
  const focused = focusedIn(former, keyOf);
  const known = new Map(former.map((row) => [keyOf(row), row]));
  const wanted = rows.map((row) => {
    const before = known.get(keyOf(row));
    known.delete(keyOf(row));
    return before?.isEqualNode(row) ? before : row;
  });
  const staying = new Set(wanted);
  former.filter((row) => !staying.has(row)).forEach((row) => row.remove());
  wanted.forEach((row, index) => {
    if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null);
  });
  if (!focused || list.contains(document.activeElement)) return;
  const row = wanted.find((one) => keyOf(one) === focused.key);
  if (row) findAll(row, FOCUSABLE)[focused.index]?.focus({ preventScroll: true });
}

/**
 * @param {HTMLElement[]} rows
 * @param {KeyOf} keyOf
 */
function focusedIn(rows, keyOf) {
  const focused = document.activeElement;
  const row = rows.find((one) => one.contains(focused));
  return row && { key: keyOf(row), index: findAll(row, FOCUSABLE).findIndex((one) => one === focused) };
}

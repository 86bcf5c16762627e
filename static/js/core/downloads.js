// Files that the page generates.

import { element } from "./dom.js";
import { visible } from "./visible_text.js";

/** @typedef {string | number | null | undefined} CsvCell */

/**
 * Rows as CSV. Text that a spreadsheet would take for a formula begins with an apostrophe; hidden characters are named.
 * @param {CsvCell[][]} rows
 */
export function csv(rows) {
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** @param {CsvCell} value */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const shown = visible(value);
  const text = /^[=+\-@\t\r]/.test(shown) ? `'${shown}` : shown;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Hands `content`, a Blob or an address, to the reader as a file.
 * @param {string} name
 * @param {Blob | string} content
 */
export function save(name, content) {
  const address = content instanceof Blob ? URL.createObjectURL(content) : content;
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  if (content instanceof Blob) setTimeout(() => URL.revokeObjectURL(address), 10000);
}

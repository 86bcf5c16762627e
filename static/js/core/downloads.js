// Files that the page generates.

import { element } from "./dom.js";

/** @typedef {string | number | null | undefined} CsvCell */

/**
 * Rows as CSV. Text that a spreadsheet would take for a formula begins with an apostrophe.
 * @param {CsvCell[][]} rows
 */
export function csv(rows) {
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** @param {CsvCell} value */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
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

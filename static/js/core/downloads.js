// Files that the page makes itself.

import { element } from "./dom.js";

/** Rows as CSV. Text that a spreadsheet would take for a formula begins with an apostrophe. */
export function csv(rows) {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hands `content`, a Blob or an address, to the reader as a file. */
export function save(name, content) {
  const address = content instanceof Blob ? URL.createObjectURL(content) : content;
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  if (content instanceof Blob) setTimeout(() => URL.revokeObjectURL(address), 10000);
}

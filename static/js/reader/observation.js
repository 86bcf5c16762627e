// An observation as text; lines that were not in the frame before are marked.

import { html } from "../core/html.js";
import { visibleText } from "../core/visible_text.js";

/**
 * @param {HTMLElement} host
 * @param {string | undefined} text
 * @param {string | undefined} previous
 */
export function showObservation(host, text, previous) {
  const before = new Set(typeof previous === "string" ? previous.split("\n") : []);
  const lines = String(text ?? "").split("\n");
  host.dir = "ltr";
  host.replaceChildren(
    ...lines.map((line, index) => {
      const span = html("span", previous !== undefined && !before.has(line) ? "line--changed" : "");
      span.append(visibleText(line), index < lines.length - 1 ? "\n" : "");
      return span;
    }),
  );
}

// An observation as text, with the lines marked that were not so in the frame before.

import { html } from "../core/html.js";
import { visibleText } from "../core/visible_text.js";

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

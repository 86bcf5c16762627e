// Parts of a page that take the server longer than its rows: the page names their address, and shows them once they are
// there.

import { find, findAll } from "../core/dom.js";
import { getPage } from "../core/requests.js";

const waiting = find(document, "[data-late]");
const parts = await getPage(waiting.dataset.late ?? "");
for (const part of parts ?? []) {
  const name = part instanceof HTMLElement ? part.dataset.part : undefined;
  for (const before of findAll(document, `[data-part="${name}"]`)) before.replaceWith(part);
}
if (!parts) {
  waiting.removeAttribute("aria-busy");
  find(waiting, "p").textContent = "The counts did not arrive. Reload the page to try again.";
}

// The glossary's entries that have all the words that are searched for.

import { byId, findAll } from "../core/dom.js";

const input = byId("glossary-filter", HTMLInputElement);
const sections = findAll(document, ".glossary-section", HTMLElement);

function filter() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let total = 0;
  for (const section of sections) {
    let found = 0;
    for (const entry of findAll(section, ".glossary-entry", HTMLElement)) {
      const text = entry.textContent?.toLowerCase() ?? "";
      entry.hidden = !words.every((word) => text.includes(word));
      if (!entry.hidden) found += 1;
    }
    section.hidden = found === 0;
    total += found;
  }
  byId("glossary-none").hidden = total > 0;
}

input.addEventListener("input", filter);
filter(); // a reloaded page keeps the words

// Where the members of a group diverge from the one that is shown, in the strip of members.

import { findAll } from "../core/dom.js";
import { html } from "../core/html.js";
import { describe, divergence, otherWords } from "./divergence.js";

/** @import { Problem, TrajectoryRecord } from "../types.js" */

/** @param {HTMLElement} strip */
export async function showDivergence(strip) {
  const links = findAll(strip, "a.member", HTMLAnchorElement);
  const records = await Promise.all(
    links.map(async (link) => {
      try {
        const answer = await fetch(link.dataset.data ?? "", { headers: { Accept: "application/json" } });
        /** @type {TrajectoryRecord & { error?: Problem }} */
        const record = await answer.json();
        return record.error ? null : record;
      } catch {
        return null;
      }
    }),
  );
  const own = records[links.findIndex((link) => link.ariaCurrent === "page")];
  if (!own) return;
  links.forEach((link, index) => {
    link.querySelector(".member-divergence")?.remove();
    link.append(link.ariaCurrent === "page" ? mark("this one") : markOf(own, records[index]));
  });
}

/**
 * Another action comes first; other words for the same actions are only mentioned where there is none.
 * @param {TrajectoryRecord} own
 * @param {TrajectoryRecord | null} other
 */
function markOf(own, other) {
  if (!other) return mark("unreadable");
  const found = divergence(own.turns, other.turns);
  if (found) return mark(`turn ${found.turn}`, describe(found), "member-divergence--differs");
  const words = otherWords(own.turns, other.turns);
  return words === null ? mark("same") : mark("same actions", `in other words from turn ${words}`);
}

/**
 * @param {string} textContent
 * @param {string} [title]
 * @param {string} [look]
 */
function mark(textContent, title = "", look = "muted") {
  return html("span", `member-divergence ${look}`, { textContent, title });
}

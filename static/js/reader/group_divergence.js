// Where the members of a group diverge: the first turn in which a member acted differently from the one that is shown.

import { findAll } from "../core/dom.js";
import { html } from "../core/html.js";

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
    const words = link.ariaCurrent === "page" ? "this one" : divergence(own, records[index]);
    link.append(html("span", "member-divergence muted", { textContent: words }));
  });
}

/**
 * @param {TrajectoryRecord} own
 * @param {TrajectoryRecord | null} other
 */
function divergence(own, other) {
  if (!other) return "unreadable";
  const length = Math.max(own.turns.length, other.turns.length);
  for (let turn = 0; turn < length; turn += 1) {
    const [mine, its] = [own.turns[turn], other.turns[turn]];
    if (!mine || !its || mine.executed.join("\n") !== its.executed.join("\n")) return `turn ${turn + 1}`;
  }
  return "same";
}

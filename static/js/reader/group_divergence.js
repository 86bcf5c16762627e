// Where the members of a group diverge: the first turn in which a member executed other actions than the one shown.

import { html } from "../core/html.js";

export async function showDivergence(strip) {
  const links = [...strip.querySelectorAll("a.member")];
  const records = await Promise.all(
    links.map(async (link) => {
      try {
        const answer = await (await fetch(link.dataset.data, { headers: { Accept: "application/json" } })).json();
        return answer.error ? null : answer;
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

function divergence(own, other) {
  if (!other) return "unreadable";
  const length = Math.max(own.turns.length, other.turns.length);
  for (let turn = 0; turn < length; turn += 1) {
    const [mine, its] = [own.turns[turn], other.turns[turn]];
    if (!mine || !its || mine.executed.join("\n") !== its.executed.join("\n")) return `turn ${turn + 1}`;
  }
  return "same";
}

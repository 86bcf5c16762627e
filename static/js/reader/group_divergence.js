// Where the members of a group part: the first turn in which a member did something else than the one that is read.

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
    link.querySelector(".member-part")?.remove();
    const words = link.ariaCurrent === "page" ? "this one" : parting(own, records[index]);
    link.append(html("span", "member-part muted", { textContent: words }));
  });
}

function parting(own, other) {
  if (!other) return "unreadable";
  const length = Math.max(own.turns.length, other.turns.length);
  for (let turn = 0; turn < length; turn += 1) {
    const [mine, its] = [own.turns[turn], other.turns[turn]];
    if (!mine || !its || mine.executed.join("\n") !== its.executed.join("\n")) return `turn ${turn + 1}`;
  }
  return "same";
}

// j and k move through the rows of a `[data-rows]` table; Enter follows the row's first link, as links do, or the one
// that says it opens the row.

function linksOf(table) {
  const rows = [...table.querySelectorAll("tbody tr:not([data-note])")];
  return rows.map((row) => row.querySelector("a[data-opens]") ?? row.querySelector("a")).filter(Boolean);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const step = { j: 1, k: -1 }[event.key];
  const table = document.querySelector("[data-rows]");
  const links = step && table ? linksOf(table) : []; // looked for now: news brings other rows
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[Math.min(Math.max(at + step, 0), links.length - 1)].focus();
  event.preventDefault();
});

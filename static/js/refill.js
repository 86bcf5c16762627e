// Newer rows in the place of those of a list. Rows that are as before stay, and the focus stays where it was.

const FOCUSABLE = "a, button, input, select, summary";

/** `nameOf(row)` tells rows apart. */
export function refill(list, rows, nameOf) {
  const former = [...list.children];
  const focused = focusedIn(former, nameOf);
  const alike = former.length === rows.length && rows.every((row, i) => nameOf(row) === nameOf(former[i]));
  if (!alike) list.replaceChildren(...rows);
  else former.forEach((row, i) => row.isEqualNode(rows[i]) || row.replaceWith(rows[i]));
  if (!focused || list.contains(document.activeElement)) return;
  const row = rows.find((one) => nameOf(one) === focused.name);
  row?.querySelectorAll(FOCUSABLE)[focused.place]?.focus({ preventScroll: true });
}

function focusedIn(rows, nameOf) {
  const row = rows.find((one) => one.contains(document.activeElement));
  return row && { name: nameOf(row), place: [...row.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement) };
}

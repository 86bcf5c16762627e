// Newer rows in the place of those of a list. Rows that are as before stay, and the focus stays where it was.

const FOCUSABLE = "a, button, input, select, summary";

/** `nameOf(row)` tells rows apart. */
export function refill(list, rows, nameOf) {
  const former = [...list.children];
  const focused = focusedIn(former, nameOf);
  const known = new Map(former.map((row) => [nameOf(row), row]));
  const wanted = rows.map((row) => {
    const before = known.get(nameOf(row));
    known.delete(nameOf(row));
    return before?.isEqualNode(row) ? before : row;
  });
  const staying = new Set(wanted);
  former.filter((row) => !staying.has(row)).forEach((row) => row.remove());
  wanted.forEach((row, place) => list.children[place] === row || list.insertBefore(row, list.children[place] ?? null));
  if (!focused || list.contains(document.activeElement)) return;
  const row = wanted.find((one) => nameOf(one) === focused.name);
  row?.querySelectorAll(FOCUSABLE)[focused.place]?.focus({ preventScroll: true });
}

function focusedIn(rows, nameOf) {
  const row = rows.find((one) => one.contains(document.activeElement));
  return row && { name: nameOf(row), place: [...row.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement) };
}

// What a small chart draws, as rows for a file: a row a step or stretch of steps, a column a line.

/** `series` as `SmallLines` takes them; the first row names the columns. */
export function rowsOf(series) {
  const stretched = series.map(({ points }) => points.some((point) => point.low !== undefined));
  const names = series.map(({ name }) => (typeof name === "string" ? name : name.textContent));
  const head = names.flatMap((name, i) => (stretched[i] ? [name, `${name}, low`, `${name}, high`] : [name]));
  const any = stretched.some(Boolean);
  const rows = new Map();
  let column = 0;
  series.forEach(({ points }, i) => {
    for (const { step, first, y, low, high } of points) {
      if (!rows.has(step)) rows.set(step, { first, cells: Array(head.length).fill(null) });
      rows.get(step).cells.splice(column, stretched[i] ? 3 : 1, ...(stretched[i] ? [y, low, high] : [y]));
    }
    column += stretched[i] ? 3 : 1;
  });
  const inOrder = [...rows].sort(([one], [other]) => one - other);
  const place = (step, first) => (any ? [first ?? step, step] : [step]);
  return [
    [...(any ? ["first_step", "step"] : ["step"]), ...head],
    ...inOrder.map(([step, { first, cells }]) => [...place(step, first), ...cells]),
  ];
}

// What a small chart draws, as rows for a file: one row per step or range of steps, one column per line.

/** @import { Series } from "../types.js" */

/**
 * The first row names the columns.
 * @param {Series[]} series
 * @returns {(string | number | null)[][]}
 */
export function rowsOf(series) {
  const ranged = series.map(({ points }) => points.some((point) => point.low !== undefined));
  const names = series.map(({ name }) => (typeof name === "string" ? name : (name.textContent ?? "")));
  const head = names.flatMap((name, i) => (ranged[i] ? [name, `${name}, low`, `${name}, high`] : [name]));
  const any = ranged.some(Boolean);
  /** @type {Map<number, { first: number | undefined, cells: (number | null)[] }>} */
  const rows = new Map();
  let column = 0;
  series.forEach(({ points }, i) => {
    for (const { step, first, y, low, high } of points) {
      const row = rows.get(step) ?? { first, cells: Array(head.length).fill(null) };
      rows.set(step, row);
      const values = ranged[i] ? [y, low ?? null, high ?? null] : [y];
      row.cells.splice(column, values.length, ...values);
    }
    column += ranged[i] ? 3 : 1;
  });
  const inOrder = [...rows].sort(([one], [other]) => one - other);
  const stepsOf = (/** @type {number} */ step, /** @type {number | undefined} */ first) =>
    any ? [first ?? step, step] : [step];
  return [
    [...(any ? ["first_step", "step"] : ["step"]), ...head],
    ...inOrder.map(([step, { first, cells }]) => [...stepsOf(step, first), ...cells]),
  ];
}

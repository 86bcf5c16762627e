// What is different between two states of a grid, in words: where the player went, and which cells became what.

const MOST = 6;
const at = ([row, column]) => `(${row}, ${column})`;

export function changeOfGrid(previous, drawing) {
  const words = [];
  const [from, to] = [previous.agent, drawing.agent];
  const known = Array.isArray(from) && Array.isArray(to);
  if (known && at(from) !== at(to)) words.push(`player ${at(from)} → ${at(to)}`);
  const cells = changedCells(previous, drawing);
  words.push(...cells.slice(0, MOST).map(([place, was, is]) => `${at(place)} ${named(was)} → ${named(is)}`));
  if (cells.length > MOST) words.push(`and ${cells.length - MOST} cells more`);
  if (previous.agent_state !== drawing.agent_state && drawing.agent_state !== "ok") words.push(named(drawing.agent_state));
  return words.length ? `Changed: ${words.join("; ")}.` : "Nothing changed.";
}

function changedCells(previous, drawing) {
  if (!Array.isArray(previous.cells) || !Array.isArray(drawing.cells)) return [];
  const found = [];
  drawing.cells.forEach((cells, row) => {
    if (!Array.isArray(cells)) return;
    cells.forEach((cell, column) => {
      const before = previous.cells[row]?.[column];
      if (before !== cell) found.push([[row, column], before, cell]);
    });
  });
  return found;
}

const named = (name) => String(name).replaceAll("_", " ");

// Where a run stands in the queue: its position, links to the runs that hold the slots, and buttons that move it. Or what
// a paused run holds up.

import { byId, element, findAll } from "../core/dom.js";
import { visibleText } from "../core/visible_text.js";
import { postAction } from "./controls.js";

/** @import { RunState } from "../types.js" */
/** @typedef {NonNullable<RunState["queue"]>} Standing */

/** @type {[action: string, label: string, isPossible: (standing: Standing) => boolean][]} */
const MOVES = [
  ["queue_first", "Move to the head of the queue", ({ position }) => position > 1],
  ["queue_up", "Move up", ({ position }) => position > 1],
  ["queue_down", "Move down", ({ position, length }) => position > 0 && position < length],
];

/**
 * The moves that a run can make.
 * @param {Standing} standing
 */
export const movesOf = (standing) => MOVES.filter(([, , isPossible]) => isPossible(standing)).map(([action]) => action);

/**
 * Shows it in the line of the verdict, which says what a queued run waits for, and in a line of its own below.
 * @param {RunState} state
 * @param {{ address: string, onState: (state: Partial<RunState>) => void }} options `address` takes requests
 */
export function showStanding({ queue }, { address, onState }) {
  const line = lineOfItsOwn();
  line.hidden = !queue;
  if (!queue) return;
  const words = queue.words.map((word) =>
    typeof word === "string"
      ? visibleText(word)
      : element("a", { href: `/runs/${word.run}/`, dir: "ltr" }, visibleText(word.name)),
  );
  const isQueued = queue.position > 0;
  if (isQueued) byId("verdict-reason").replaceChildren(...words);
  const moves = movesOf(queue);
  line.hidden = isQueued && !moves.length;
  const signature = JSON.stringify([queue.words, moves]);
  if (line.dataset.signature === signature) return; // a button that has the focus stays
  line.dataset.signature = signature;
  const buttons = MOVES.filter(([action]) => moves.includes(action)).map(([action, label]) => {
    const button = element("button", { type: "button", class: "button button--small" }, label);
    button.addEventListener("click", async () => {
      for (const one of findAll(line, "button", HTMLButtonElement)) one.disabled = true;
      const next = await postAction(address, action, "The server did not answer. The queue is unchanged; try again.");
      delete line.dataset.signature;
      onState(next ?? {});
    });
    return button;
  });
  line.replaceChildren(...(isQueued ? [] : words), ...buttons);
}

function lineOfItsOwn() {
  const found = document.getElementById("queue-standing");
  if (found) return found;
  const line = element("p", { id: "queue-standing", class: "toolbar", hidden: true });
  byId("notice").after(line);
  return line;
}

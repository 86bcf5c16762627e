// The position in a trajectory that an address names: `#t=2&k=17&by=entropy` is turn 2, token 17, coloured by entropy;
// `#view=transcript&t=2` is turn 2 of the transcript.

/** @import { Shade } from "../types.js" */

/** @typedef {"turn" | "transcript"} View */
/** @typedef {{ view: View, turn: number | null, token: number | null, shade: Shade | "" }} ReaderPosition */

/** @type {Shade[]} */
const SHADES = ["advantage", "entropy", "probability", "mask"];

/**
 * `turn` counts from 1 and `token` from 0; a part that is missing or invalid is null, or "" for the colour.
 * @returns {ReaderPosition}
 */
export function readPosition(address = location) {
  const named = new URLSearchParams(address.hash.slice(1));
  const requested = new URLSearchParams(address.search).get("turn");
  return {
    view: named.get("view") === "transcript" ? "transcript" : "turn",
    turn: whole(named.get("t") ?? requested),
    token: whole(named.get("k")),
    shade: SHADES.find((shade) => shade === named.get("by")) ?? "",
  };
}

/**
 * Writes the position into the address without a history entry, and view and turn into the links to other members.
 * @param {ReaderPosition} readerPosition
 * @param {Iterable<HTMLAnchorElement>} links
 */
export function writePosition({ view, turn, token, shade }, links) {
  const address = new URL(location.href);
  address.searchParams.delete("turn");
  address.hash = hash({ view, turn, token, shade });
  history.replaceState(null, "", address);
  for (const link of links) {
    const target = new URL(link.href);
    target.hash = hash({ view, turn, token: null, shade });
    link.href = target.href;
  }
}

/** @param {ReaderPosition} readerPosition */
function hash({ view, turn, token, shade }) {
  const parts = [
    view === "turn" ? "" : `view=${view}`,
    `t=${turn}`,
    token === null ? "" : `k=${token}`,
    shade ? `by=${shade}` : "",
  ];
  return parts.filter(Boolean).join("&");
}

/** @param {string | null} text */
const whole = (text) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);

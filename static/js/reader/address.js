// The position in a trajectory that an address names: `#t=2&k=17&by=entropy` is turn 2, token 17, coloured by entropy.

/** @import { Shade } from "../types.js" */

/** @typedef {{ turn: number | null, token: number | null, shade: Shade | "" }} ReaderPosition */

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
    turn: whole(named.get("t") ?? requested),
    token: whole(named.get("k")),
    shade: SHADES.find((shade) => shade === named.get("by")) ?? "",
  };
}

/**
 * Writes the position into the address without a history entry, and the turn into the links to other members.
 * @param {ReaderPosition} readerPosition
 * @param {Iterable<HTMLAnchorElement>} links
 */
export function writePosition({ turn, token, shade }, links) {
  const address = new URL(location.href);
  address.searchParams.delete("turn");
  address.hash = hash({ turn, token, shade });
  history.replaceState(null, "", address);
  for (const link of links) {
    const target = new URL(link.href);
    target.hash = hash({ turn, token: null, shade });
    link.href = target.href;
  }
}

/** @param {ReaderPosition} readerPosition */
function hash({ turn, token, shade }) {
  const parts = [`t=${turn}`, token === null ? "" : `k=${token}`, shade ? `by=${shade}` : ""];
  return parts.filter(Boolean).join("&");
}

/** @param {string | null} text */
const whole = (text) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);

// Lines of an engine's log with their time and level, and the places in them that a search finds. No elements are made.

/**
 * @typedef {object} LogLine
 * @property {number | null} time milliseconds since the epoch; null where the line has none
 * @property {string} level a key of `LEVELS`
 * @property {string} text without time and level
 */

/** From harmless to bad, with the word that is shown. */
export const LEVELS = { debug: "debug", info: "info", warning: "warning", error: "error" };
const RANKS = Object.keys(LEVELS);

const STAMPED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) (DEBUG|INFO|WARNING|ERROR|CRITICAL) /;
const BAD = /^(Traceback \(most recent call last\)|error: |(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b)/;
const DOUBTFUL = /warning\b/i;
const CONTINUED = /^(\s|$|\^)/;

/**
 * A line without a stamp has the level of the one before that it continues, unless it says itself what it is.
 * @param {string} raw
 * @param {LogLine | null} before
 * @returns {LogLine}
 */
export function parseLine(raw, before) {
  const stamp = STAMPED.exec(raw);
  if (stamp) {
    const level = stamp[2] === "CRITICAL" ? "error" : stamp[2].toLowerCase();
    return { time: Date.parse(stamp[1]), level, text: raw.slice(stamp[0].length) };
  }
  return { time: null, level: unstampedLevel(raw, before), text: raw };
}

/**
 * @param {string} raw
 * @param {LogLine | null} before
 */
function unstampedLevel(raw, before) {
  if (BAD.test(raw)) return "error";
  if (DOUBTFUL.test(raw)) return "warning";
  return before && CONTINUED.test(raw) ? before.level : "info";
}

/**
 * Whether a line is shown where only those from `least` on are.
 * @param {LogLine} line
 * @param {string} least
 */
export const isAtLeast = (line, least) => RANKS.indexOf(line.level) >= RANKS.indexOf(least);

/**
 * `text` cut where the search begins and ends to match, whatever the case: every second part is a hit.
 * @param {string} text
 * @param {string} wanted
 * @returns {string[]}
 */
export function splitAtHits(text, wanted) {
  if (!wanted) return [text];
  const [lower, needle] = [text.toLowerCase(), wanted.toLowerCase()];
  if (lower.length !== text.length) return text.split(wanted).flatMap((part, i) => (i ? [wanted, part] : [part]));
  const parts = [];
  let from = 0;
  for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + needle.length));
    from = at + needle.length;
  }
  return [...parts, text.slice(from)];
}

/**
 * The lines of a piece of the file, and what follows its last newline. A carriage return, with which progress bars
 * begin again, ends a line too: nothing is hidden by what is written over it.
 * @param {string} text
 */
export function linesOf(text) {
  const lines = text.split(/\r\n|\n|\r/);
  const rest = lines.pop() ?? "";
  return { lines, rest };
}

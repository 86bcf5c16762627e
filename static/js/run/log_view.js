// The lines of a log as elements, in the pieces in which they were read: added at either end, dropped at the beginning,
// filtered by level, and with what a search finds marked.

import { asShown, element } from "../core/dom.js";
import { isAtLeast, LEVELS, linesOf, parseLine, splitAtHits } from "./log_lines.js";

/** @import { LogPiece } from "../types.js" */
/** @import { LogLine } from "./log_lines.js" */
/** @typedef {{ line: LogLine, host: HTMLElement, text: HTMLElement, hits: HTMLElement[] }} Shown */
/** @typedef {{ start: number, bytes: number, host: HTMLElement, lines: Shown[] }} Piece */

export const PIECE = 64 * 1024; // bytes: what is read at once (webapp/run_pages/log_tail.py)

export class LogView {
  /** @type {Piece[]} */
  pieces = [];
  end = 0; // bytes of the file that have been read
  rest = ""; // of the last line, which may not be complete
  wanted = "";
  least = "debug";

  /** @param {HTMLElement} host */
  constructor(host) {
    this.host = host;
  }

  get start() {
    return this.pieces[0]?.start ?? this.end;
  }

  get lines() {
    return this.pieces.flatMap((piece) => piece.lines);
  }

  /**
   * Adds what follows; returns how many lines there are of it.
   * @param {LogPiece} read
   */
  append({ text, start, end }) {
    if (this.rest) this.dropLast();
    const { lines, rest } = linesOf(this.rest + text);
    const piece = this.openPiece(start);
    piece.bytes += end - start;
    let before = piece.lines.at(-1)?.line ?? null;
    for (const raw of rest ? [...lines, rest] : lines) {
      const shown = this.made(raw, before);
      before = shown.line;
      piece.lines.push(shown);
      piece.host.append(shown.host);
    }
    this.rest = rest;
    this.end = end;
    return lines.length;
  }

  /**
   * Adds what precedes.
   * @param {LogPiece} read
   */
  prepend({ text, start, end }) {
    /** @type {Piece} */
    const piece = { start, bytes: end - start, host: element("div"), lines: [] };
    let before = null;
    for (const raw of linesOf(text).lines) {
      const shown = this.made(raw, before);
      before = shown.line;
      piece.lines.push(shown);
    }
    piece.host.append(...piece.lines.map((shown) => shown.host));
    this.host.prepend(piece.host);
    this.pieces.unshift(piece);
  }

  clear() {
    this.host.replaceChildren();
    this.pieces = [];
    this.rest = "";
  }

  /**
   * Drops the oldest pieces, as far as `enough` lines are left.
   * @param {number} enough
   */
  dropOldest(enough) {
    let count = this.lines.length;
    while (this.pieces.length > 1 && count - this.pieces[0].lines.length >= enough) {
      const [first] = this.pieces.splice(0, 1);
      count -= first.lines.length;
      first.host.remove();
    }
  }

  /**
   * Marks what the search finds.
   * @param {string} wanted
   */
  search(wanted) {
    this.wanted = wanted;
    this.lines.forEach((shown) => this.showText(shown));
  }

  /** @param {string} least */
  filter(least) {
    this.least = this.host.dataset.least = least;
  }

  /** What the search finds in lines that are shown, in order. */
  hits() {
    return this.lines.filter(({ line }) => isAtLeast(line, this.least)).flatMap((shown) => shown.hits);
  }

  /** How many lines are shown. */
  count() {
    return this.lines.filter(({ line }) => isAtLeast(line, this.least)).length;
  }

  /** The piece that grows: small ones would be thousands. @param {number} start */
  openPiece(start) {
    const last = this.pieces.at(-1);
    if (last && last.bytes < PIECE) return last;
    const piece = { start, bytes: 0, host: element("div"), lines: [] };
    this.pieces.push(piece);
    this.host.append(piece.host);
    return piece;
  }

  dropLast() {
    this.pieces.at(-1)?.lines.pop()?.host.remove();
  }

  /**
   * @param {string} raw
   * @param {LogLine | null} before
   * @returns {Shown}
   */
  made(raw, before) {
    const line = parseLine(raw, before);
    const level = /** @type {keyof typeof LEVELS} */ (line.level);
    const text = element("span", { class: "log-text", dir: "ltr" });
    const host = element(
      "div",
      { class: "log-line", "data-level": level },
      timeOf(line.time),
      element("span", { class: "log-level" }, LEVELS[level]),
      text,
    );
    const shown = { line, host, text, hits: [] };
    this.showText(shown, true);
    return shown;
  }

  /** @param {Shown} shown */
  showText(shown, isNew = false) {
    const parts = splitAtHits(shown.line.text, this.wanted);
    if (!isNew && parts.length === 1 && !shown.hits.length) return;
    const shownParts = parts.map((part, i) => (i % 2 ? element("mark", {}, part) : asShown(part)));
    shown.hits = shownParts.filter((part) => part instanceof HTMLElement);
    shown.text.replaceChildren(...shownParts);
  }
}

/**
 * By the reader's clock, with UTC as its title.
 * @param {number | null} time
 */
function timeOf(time) {
  if (time === null) return element("span", { class: "log-time" });
  const moment = new Date(time);
  const two = (/** @type {number} */ one) => String(one).padStart(2, "0");
  const day = `${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  const clock = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
  const utc = moment.toISOString();
  return element("time", { class: "log-time", datetime: utc, title: `${utc} (UTC)` }, `${day} ${clock}`);
}

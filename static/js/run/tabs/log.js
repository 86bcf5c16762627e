// The engine's log, followed while it is in view. It stays where the reader scrolled, and keeps only the newest lines: a
// tab may be open all day.

import { byId } from "../../core/dom.js";
import { visible } from "../../core/visible_text.js";

const EVERY = 2000;
const MOST_LINES = 5000;

export class LogTab {
  /** @type {number | null} */
  next = null;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  timer = undefined;
  /** @type {boolean} */
  reading = false;

  /** @param {string} address */
  constructor(address) {
    this.address = address;
    this.lines = 0;
    this.target = byId("log");
  }

  draw() {} // the file is polled instead

  /** @param {boolean} on */
  shown(on) {
    clearInterval(this.timer);
    if (!on) return;
    this.read();
    this.timer = setInterval(() => {
      if (!document.hidden) this.read();
    }, EVERY);
  }

  // one answer at a time: two would bring the same lines
  async read() {
    if (this.reading) return;
    this.reading = true;
    await this.readMore().finally(() => {
      this.reading = false;
    });
  }

  async readMore() {
    const after = this.next === null ? "" : `?after=${this.next}`;
    const answer = await fetch(this.address + after).catch(() => null);
    if (!answer?.ok) return;
    /** @type {{ text: string, next: number }} */
    const { text, next } = await answer.json();
    const atEnd = this.target.scrollTop + this.target.clientHeight >= this.target.scrollHeight - 8;
    if (text) this.add(text);
    this.next = next;
    byId("log-empty").hidden = this.target.textContent !== "";
    if (atEnd) this.target.scrollTop = this.target.scrollHeight;
  }

  /** @param {string} text */
  add(text) {
    this.target.append(document.createTextNode(visible(text)));
    this.lines += linesOf(text);
    if (this.lines <= MOST_LINES) return;
    const height = this.target.scrollHeight;
    while (this.lines > MOST_LINES && this.target.firstChild instanceof Text) this.dropOldest(this.target.firstChild);
    this.target.scrollTop -= height - this.target.scrollHeight;
    byId("log-cut").hidden = false;
  }

  /**
   * Removes the oldest text node, or as many of its lines as are too many; a selection in others stays.
   * @param {Text} piece
   */
  dropOldest(piece) {
    const lines = linesOf(piece.data);
    const many = this.lines - MOST_LINES;
    if (lines <= many) piece.remove();
    else piece.deleteData(0, piece.data.split("\n", many).join("\n").length + 1);
    this.lines -= Math.min(lines, many);
  }
}

/** @param {string} text */
const linesOf = (text) => text.split("\n").length - 1;

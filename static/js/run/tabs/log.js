// The engine's log: its end first and what precedes on demand, followed until the reader scrolls up, searched, and
// filtered by level.

import { byId, element } from "../../core/dom.js";
import { getJson } from "../../core/requests.js";
import { LogView, PIECE } from "../log_view.js";

/** @import { LogPiece } from "../../types.js" */

const EVERY = 2000;
const NEAR = 8; // pixels
const MOST_LINES = 5000; // a tab may be open all day
const MOST_UNFOLLOWED = 50_000; // while the reader looks at what is older
const TYPING = 150; // milliseconds

export class LogTab {
  following = true;
  reading = false;
  waiting = false; // a request of the reader, for the answer to another one
  /** @type {Promise<void>} */
  current = Promise.resolve();
  missed = 0; // lines since the reader scrolled up
  top = 0; // where it was scrolled to last
  /** @type {HTMLElement | null} */
  hit = null; // that the reader is at
  /** @type {ReturnType<typeof setInterval> | undefined} */
  timer = undefined;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  typing = undefined;

  /** @param {string} address */
  constructor(address) {
    this.address = address;
    this.box = byId("log-box");
    this.view = new LogView(byId("log-lines"));
    this.follow = byId("log-follow", HTMLInputElement);
    this.field = byId("log-search", HTMLInputElement);
    this.older = byId("log-older");
    this.box.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.older.addEventListener("click", () => this.readOlder());
    this.follow.addEventListener("change", () => this.setFollowing(this.follow.checked));
    byId("log-level", HTMLSelectElement).addEventListener("change", (event) => this.filter(event));
    byId("log-next").addEventListener("click", () => this.goTo(1));
    byId("log-previous").addEventListener("click", () => this.goTo(-1));
    this.searchOlder = byId("log-search-older", HTMLButtonElement);
    this.searchOlder.addEventListener("click", () => this.readToHit());
    this.field.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.search(), TYPING);
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      if (this.field.value !== this.view.wanted) this.search();
      this.goTo(event.shiftKey ? -1 : 1);
    });
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

  read() {
    return this.alone(async () => {
      for (let more = true; more;) more = await this.readPiece();
      byId("log-empty").hidden = this.view.pieces.length > 0;
    });
  }

  /** Whether there may be more to read at once. */
  async readPiece() {
    const isFirst = !this.view.pieces.length;
    /** @type {LogPiece | null} */
    const piece = await getJson(isFirst ? this.address : `${this.address}?after=${this.view.end}`);
    if (!piece) return false;
    if (!isFirst && piece.start !== this.view.end) this.view.clear(); // it is another file now
    if (piece.end > piece.start) this.add(piece);
    return !isFirst && piece.end - piece.start > PIECE / 2;
  }

  /** @param {LogPiece} piece */
  add(piece) {
    const count = this.view.append(piece);
    const height = this.box.scrollHeight;
    this.view.dropOldest(this.following ? MOST_LINES : MOST_UNFOLLOWED);
    this.box.scrollTop -= height - this.box.scrollHeight;
    this.missed = this.following ? 0 : this.missed + count;
    this.tell();
    if (this.following) this.toEnd();
  }

  readOlder() {
    return this.next(async () => {
      await this.readOlderPiece();
      this.tell();
    });
  }

  /** Reads older lines until the search finds something in them, and goes there. */
  async readToHit() {
    const before = this.view.hits().length;
    this.searchOlder.disabled = true;
    await this.next(async () => {
      while (this.view.hits().length === before && (await this.readOlderPiece()));
    });
    this.searchOlder.disabled = false;
    this.setFollowing(false);
    const hits = this.view.hits();
    this.goToHit(hits[hits.length - before - 1]); // the last of what is new
  }

  /** Whether there was one. */
  async readOlderPiece() {
    if (this.view.start === 0) return false;
    /** @type {LogPiece | null} */
    const piece = await getJson(`${this.address}?before=${this.view.start}`);
    if (!piece || piece.start >= this.view.start) return false;
    const height = this.box.scrollHeight;
    this.view.prepend(piece);
    this.box.scrollTop += this.box.scrollHeight - height;
    return true;
  }

  /**
   * One answer at a time: two would bring the same lines.
   * @param {() => Promise<void>} action
   */
  async alone(action) {
    if (this.reading) return;
    this.reading = true;
    this.current = action().finally(() => {
      this.reading = false;
    });
    await this.current;
  }

  /**
   * What the reader asks for: after the answer that is awaited now, and once however often it was asked for.
   * @param {() => Promise<void>} action
   */
  async next(action) {
    if (this.waiting) return;
    this.waiting = true;
    await this.current.catch(() => {});
    this.waiting = false;
    await this.alone(action);
  }

  /** The reader scrolls away from the end, or back to it. */
  scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.box;
    const atEnd = scrollTop + clientHeight >= scrollHeight - NEAR;
    const goesUp = scrollTop < this.top;
    this.top = scrollTop;
    if (this.following && !atEnd && !goesUp) return this.toEnd(); // lines have become higher, not the reader
    if (atEnd !== this.following) this.setFollowing(atEnd);
    if (!atEnd && scrollTop < NEAR && this.view.start > 0) this.readOlder();
    return undefined;
  }

  /** @param {boolean} on */
  setFollowing(on) {
    this.following = this.follow.checked = on;
    this.missed = 0;
    this.tell();
    if (on) this.toEnd();
  }

  toEnd() {
    this.box.scrollTop = this.box.scrollHeight;
  }

  /** @param {Event} event */
  filter(event) {
    if (event.target instanceof HTMLSelectElement) this.view.filter(event.target.value);
    this.tell();
    if (this.following) this.toEnd();
  }

  search() {
    this.view.search(this.field.value);
    this.goToHit(this.view.hits().at(-1));
  }

  /**
   * The next or the previous hit, around the end.
   * @param {1 | -1} along
   */
  goTo(along) {
    const hits = this.view.hits();
    const at = hits.findIndex((hit) => hit === this.hit);
    this.goToHit(at < 0 ? hits.at(-1) : hits[(at + along + hits.length) % hits.length]);
  }

  /** @param {HTMLElement} [hit] */
  goToHit(hit) {
    this.hit?.removeAttribute("aria-current");
    this.hit = hit ?? null;
    hit?.setAttribute("aria-current", "true");
    hit?.scrollIntoView({ block: "center", inline: "nearest" });
    this.tell();
  }

  tell() {
    const lines = this.view.count();
    const loaded = `${lines} ${this.view.start > 0 ? "loaded " : ""}${lines === 1 ? "line" : "lines"}`;
    const hits = this.view.wanted ? this.view.hits() : [];
    const at = hits.findIndex((hit) => hit === this.hit);
    const count = `${hits.length} ${hits.length === 1 ? "hit" : "hits"}`;
    const found = `${at < 0 ? "" : `${at + 1} of `}${count} in ${loaded}`;
    byId("log-hits").textContent = this.view.wanted ? found : loaded;
    byId("log-next").hidden = byId("log-previous").hidden = !hits.length;
    this.older.hidden = this.view.start === 0;
    this.searchOlder.hidden = !this.view.wanted || this.view.start === 0;
    const isPaused = !this.following && this.view.pieces.length > 0;
    const unseen = this.missed ? `: ${this.missed} new ${this.missed === 1 ? "line" : "lines"} below` : "";
    byId("log-state").replaceChildren(isPaused ? element("span", {}, `Not following${unseen}`) : "");
  }
}

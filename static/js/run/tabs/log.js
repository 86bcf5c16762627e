// The engine's log, followed while it is looked at. It stays where the reader scrolled,
// and keeps the newest lines alone: a tab may be open all day.

const EVERY = 2000;
const MOST_LINES = 5000;

export class LogTab {
  constructor(address) {
    this.address = address;
    this.next = null;
    this.lines = 0;
    this.target = document.getElementById("log");
  }

  draw() {} // it follows the file by itself

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
    await this.readMore().finally(() => (this.reading = false));
  }

  async readMore() {
    const after = this.next === null ? "" : `?after=${this.next}`;
    const answer = await fetch(this.address + after).catch(() => null);
    if (!answer?.ok) return;
    const { text, next } = await answer.json();
    const atEnd = this.target.scrollTop + this.target.clientHeight >= this.target.scrollHeight - 8;
    if (text) this.add(text);
    this.next = next;
    document.getElementById("log-empty").hidden = this.target.textContent !== "";
    if (atEnd) this.target.scrollTop = this.target.scrollHeight;
  }

  add(text) {
    this.target.append(document.createTextNode(text));
    this.lines += linesOf(text);
    if (this.lines <= MOST_LINES) return;
    const height = this.target.scrollHeight;
    while (this.lines > MOST_LINES) this.dropOldest(this.target.firstChild);
    this.target.scrollTop -= height - this.target.scrollHeight;
    document.getElementById("log-cut").hidden = false;
  }

  // the oldest piece of text, or as many of its lines as are too many; a selection of others stays
  dropOldest(piece) {
    const lines = linesOf(piece.data);
    const many = this.lines - MOST_LINES;
    if (lines <= many) piece.remove();
    else piece.deleteData(0, piece.data.split("\n", many).join("\n").length + 1);
    this.lines -= Math.min(lines, many);
  }
}

const linesOf = (text) => text.split("\n").length - 1;

// The engine's log, followed while it is looked at. It stays where the reader scrolled.

const EVERY = 2000;

export class LogTab {
  constructor(address) {
    this.address = address;
    this.next = null;
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
    if (text) this.target.append(document.createTextNode(text));
    this.next = next;
    document.getElementById("log-empty").hidden = this.target.textContent !== "";
    if (atEnd) this.target.scrollTop = this.target.scrollHeight;
  }
}

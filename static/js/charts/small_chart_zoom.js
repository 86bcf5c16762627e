// A mouse that is dragged over a small chart chooses the window of all charts, as over a large one; twice clicked it
// gives the whole back. A finger scrolls the page.

import { svg } from "../core/dom.js";

const FAR = 6; // pixels; less is a click

export class SmallDrag {
  // of a `SmallLines`; `onWindow([first, last])` with steps, or null for the whole
  constructor(chart, onWindow) {
    Object.assign(this, { chart, onWindow });
    const { plot } = chart;
    plot.addEventListener("pointerdown", (event) => this.begin(event));
    plot.addEventListener("pointermove", (event) => this.move(event));
    plot.addEventListener("pointerup", (event) => this.end(event));
    plot.addEventListener("pointercancel", () => this.forget());
    plot.addEventListener("click", (event) => this.swallow(event), { capture: true });
    plot.addEventListener("dblclick", () => onWindow(null));
  }

  begin(event) {
    this.dragged = false;
    if (event.button !== 0 || event.pointerType === "touch" || this.chart.stepAt(event) === null) return;
    this.from = this.chart.inside(event);
  }

  move(event) {
    if (this.from === undefined) return;
    if (!(event.buttons & 1)) return this.forget(); // it was let go somewhere else
    const to = this.chart.inside(event);
    if (!this.dragged && Math.abs(to - this.from) < FAR) return;
    if (!this.dragged) this.chart.plot.setPointerCapture(event.pointerId);
    this.dragged = true;
    this.shade(Math.min(this.from, to), Math.abs(to - this.from));
  }

  // A drawing takes the shade away; the next move brings it back.
  shade(x, width) {
    const { top, bottom } = this.chart.frame;
    this.area?.remove();
    this.area = svg("rect", { class: "lines-window", x, width, y: top, height: bottom - top });
    this.chart.plot.firstElementChild?.append(this.area);
  }

  end(event) {
    if (this.from !== undefined && this.dragged) {
      const ends = [this.from, this.chart.inside(event)].map((x) => this.chart.axis.x.at(x));
      this.onWindow(ends.toSorted((a, b) => a - b));
    }
    this.forget();
  }

  forget() {
    this.from = undefined;
    this.area?.remove();
  }

  // What ends a drag is no click.
  swallow(event) {
    if (this.dragged) event.stopImmediatePropagation();
    this.dragged = false;
  }
}

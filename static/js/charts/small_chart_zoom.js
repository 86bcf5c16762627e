// A mouse dragged over a small chart selects the window of all charts, as over a large one; a double click resets it.
// A finger scrolls the page.

import { svg } from "../core/dom.js";

/** @import { Window } from "../types.js" */
/** @import { SmallChart } from "./small_chart.js" */

const FAR = 6; // pixels; less is a click

export class SmallChartZoom {
  /** @type {number | undefined} */
  from = undefined;
  /** @type {boolean} */
  dragged = false;
  /** @type {SVGElement | undefined} */
  area = undefined;

  /**
   * `onWindow([first, last])` is called with steps, or null for the whole run
   * @param {SmallChart} chart
   * @param {(window: Window | null) => void} onWindow
   */
  constructor(chart, onWindow) {
    this.chart = chart;
    this.onWindow = onWindow;
    const { plot } = chart;
    plot.addEventListener("pointerdown", (event) => this.begin(event));
    plot.addEventListener("pointermove", (event) => this.move(event));
    plot.addEventListener("pointerup", (event) => this.end(event));
    plot.addEventListener("pointercancel", () => this.forget());
    plot.addEventListener("click", (event) => this.swallow(event), { capture: true });
    plot.addEventListener("dblclick", () => onWindow(null));
  }

  /** @param {PointerEvent} event */
  begin(event) {
    this.dragged = false;
    if (event.button !== 0 || event.pointerType === "touch" || this.chart.stepAt(event) === null) return;
    this.from = this.chart.inside(event);
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (this.from === undefined) return;
    if (!(event.buttons & 1)) {
      this.forget(); // the button was released somewhere else
      return;
    }
    const to = this.chart.inside(event);
    if (!this.dragged && Math.abs(to - this.from) < FAR) return;
    if (!this.dragged) this.chart.plot.setPointerCapture(event.pointerId);
    this.dragged = true;
    this.shade(Math.min(this.from, to), Math.abs(to - this.from));
  }

  /**
   * A redraw removes the shade; the next move draws it again.
   * @param {number} x
   * @param {number} width
   */
  shade(x, width) {
    const { top, bottom } = this.chart.frame;
    this.area?.remove();
    this.area = svg("rect", { class: "lines-window", x, width, y: top, height: bottom - top });
    this.chart.plot.firstElementChild?.append(this.area);
  }

  /** @param {PointerEvent} event */
  end(event) {
    if (this.from !== undefined && this.dragged) {
      const { axis } = this.chart;
      const [from, to] = [this.from, this.chart.inside(event)];
      if (axis) this.onWindow([axis.x.at(Math.min(from, to)), axis.x.at(Math.max(from, to))]);
    }
    this.forget();
  }

  forget() {
    this.from = undefined;
    this.area?.remove();
  }

  /**
   * The click at the end of a drag is dropped.
   * @param {MouseEvent} event
   */
  swallow(event) {
    if (this.dragged) event.stopImmediatePropagation();
    this.dragged = false;
  }
}

// The regime map: how varied thoughts on one prompt are, against how much they depend on it. One dot a diagnosed step.

import { element, svg } from "../core/dom.js";
import { number } from "../core/format.js";
import { textAt, ticks } from "../charts/small_chart.js";
import { areaLabel } from "./regime_labels.js";
import { regimeTexts } from "./regimes.js";

/** @import { RegimeBorders } from "../types.js" */
/** @import { Reading } from "./regimes.js" */

const MARGIN = { left: 52, right: 14, top: 12, bottom: 34 };
const TRAIL = 12;
const MANY = 600; // readings: of more, those that lie on another's dot have none
const CELL = 4; // pixels

/** @typedef {{ found: Reading[], borders: RegimeBorders, step: number, unit: string, widest?: number }} MapContent `widest` is where the axis ends at least */

/** @param {string} key */
const classOf = (key) => `regime regime--${key.replaceAll("_", "-")}`;

export function regimeKey() {
  const rows = Object.entries(regimeTexts()).map(([key, { title, description }]) =>
    element("li", {}, swatchOf("rect", classOf(key)), element("span", {}, element("b", {}, title), ` ${description}`)),
  );
  return element(
    "ul",
    { class: "regime-key" },
    ...rows,
    element(
      "li",
      {},
      swatchOf("diamond", "regime-dot regime-dot--broken"),
      element("span", {}, element("b", {}, "Broken format"), " fewer turns have a thought, in any regime"),
    ),
  );
}

/**
 * @param {"rect" | "diamond"} shape
 * @param {string} name
 */
function swatchOf(shape, name) {
  const drawn =
    shape === "rect"
      ? { x: 0, y: 0, width: 12, height: 12, rx: 3 }
      : { x: 2.5, y: 2.5, width: 7, height: 7, transform: "rotate(45 6 6)" };
  return svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, svg("rect", { class: name, ...drawn }));
}

/**
 * The end of the axis of entropy that has all readings and borders.
 * @param {Pick<MapContent, "found" | "borders">} content
 */
export const widestOf = ({ found, borders }) => Math.max(borders.blow_up * 1.08, ...found.map((one) => one.h * 1.05));

export class RegimeMap {
  /** @type {MapContent | undefined} */
  shown = undefined;
  /** @type {number} */
  width = 0;
  /** @type {number} */
  height = 0;
  /** @type {{ widest: number, lowest: number, highest: number }} */
  extent = { widest: 1, lowest: 0, highest: 1 };
  /** @type {(h: number) => number} */
  x = () => 0;
  /** @type {(mi: number) => number} */
  y = () => 0;

  /** @param {(step: number) => void} onStep */
  constructor(onStep) {
    this.onStep = onStep;
    this.texts = regimeTexts();
    this.root = element("div", { class: "regime-map" });
    new ResizeObserver(() => {
      if (this.shown && this.root.clientWidth !== this.width) this.draw(this.shown);
    }).observe(this.root);
  }

  /** @param {MapContent} shown */
  draw(shown) {
    this.shown = shown;
    this.width = this.root.clientWidth || 480;
    this.height = Math.round(Math.min(320, Math.max(260, this.width * 0.62)));
    const { found, borders } = shown;
    const widest = Math.max(shown.widest ?? 0, widestOf(shown));
    const lowest = Math.min(-0.04, ...found.map((one) => one.mi - 0.03));
    const room = { x: this.width - MARGIN.left - MARGIN.right, y: this.height - MARGIN.top - MARGIN.bottom };
    this.x = (/** @type {number} */ h) => MARGIN.left + (room.x * h) / widest;
    this.y = (/** @type {number} */ mi) => MARGIN.top + room.y * (1 - (mi - lowest) / (1.03 - lowest));
    this.extent = { widest, lowest, highest: 1.03 };
    this.root.replaceChildren(
      svg(
        "svg",
        { width: this.width, height: this.height, role: "img", "aria-label": this.description(shown) },
        ...this.areas(borders),
        ...this.axes(shown.unit),
        ...this.trail(shown),
        ...this.dots(shown),
      ),
    );
  }

  /** @param {MapContent} mapContent */
  description({ found, step }) {
    const at = found.findLast((one) => one.step <= step);
    return at ? `Regime map: at step ${at.step} ${this.texts[at.regime].title}` : "Regime map without readings";
  }

  /** @param {RegimeBorders} borders */
  areas({ entropy: h, mutual_information: mi, blow_up: end }) {
    const { widest, lowest, highest } = this.extent;
    /**
     * @param {string} key
     * @param {number[]} xs
     * @param {number[]} ys
     */
    const area = (key, [x0, x1], [y0, y1]) => {
      const [left, right, top, bottom] = [this.x(x0), this.x(x1), this.y(y1), this.y(y0)];
      const rect = svg("rect", {
        class: classOf(key),
        x: left,
        y: top,
        width: Math.max(0, right - left),
        height: Math.max(0, bottom - top),
      });
      const { title, description } = this.texts[key];
      rect.append(svg("title", {}, `${title}: ${description}`));
      return [rect, ...areaLabel(title, { left, right, top, bottom }, y0 >= mi)];
    };
    return [
      ...area("compressed", [0, h], [mi, highest]),
      ...area("diverse", [h, end], [mi, highest]),
      ...area("low_entropy_collapse", [0, h], [lowest, mi]),
      ...area("template_collapse", [h, end], [lowest, mi]),
      ...area("entropy_blow_up", [end, widest], [lowest, highest]),
    ];
  }

  /** @param {string} unit */
  axes(unit) {
    const bottom = this.height - MARGIN.bottom;
    const right = this.width - MARGIN.right;
    const across = ticks(0, this.extent.widest, Math.max(3, Math.floor(this.width / 110)));
    return [
      ...across.map((value) => textAt("lines-tick lines-tick--x", this.x(value), bottom + 14, number(value))),
      ...[0, 0.25, 0.5, 0.75, 1].map((value) =>
        textAt("lines-tick lines-tick--y", MARGIN.left - 6, this.y(value) + 4, String(value)),
      ),
      svg("line", { class: "regime-zero", x1: MARGIN.left, x2: right, y1: this.y(0), y2: this.y(0) }),
      textAt("regime-axis regime-axis--x", (MARGIN.left + right) / 2, this.height - 4, `H(Z|X), ${unit}`),
      svg(
        "text",
        { class: "regime-axis", transform: `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)` },
        "mutual information / ln N",
      ),
    ];
  }

  /** @param {MapContent} mapContent */
  trail({ found, step }) {
    const past = found.filter((one) => one.step <= step).slice(-TRAIL - 1);
    return past.slice(1).map((one, index) =>
      svg("line", {
        class: "regime-trail",
        x1: this.x(past[index].h),
        y1: this.y(past[index].mi),
        x2: this.x(one.h),
        y2: this.y(one.mi),
        "stroke-opacity": (0.12 + (0.68 * (index + 1)) / (past.length - 1)).toFixed(2),
      }),
    );
  }

  /** @param {MapContent} mapContent */
  dots({ found, step }) {
    const now = found.findLastIndex((one) => one.step <= step);
    const shown = found.length > MANY ? this.seen(found, now) : found.map((_, index) => index);
    /** @type {SVGElement[]} */
    const drawn = shown.filter((index) => index !== now).map((index) => this.dot(found[index], index - now));
    if (now < 0) return drawn;
    const at = found[now];
    const left = this.x(at.h) > this.width - 90;
    drawn.push(
      this.dot(at, 0),
      textAt(
        `regime-now${left ? " regime-now--left" : ""}`,
        this.x(at.h) + (left ? -11 : 11),
        this.y(at.mi) - 7,
        `step ${at.step}`,
      ),
    );
    return drawn;
  }

  /**
   * Indices of the readings to draw: the newest on each spot, and those of the trail.
   * @param {Reading[]} found
   * @param {number} now
   */
  seen(found, now) {
    const spots = new Map();
    found.forEach(({ h, mi }, index) =>
      spots.set(`${Math.round(this.x(h) / CELL)},${Math.round(this.y(mi) / CELL)}`, index),
    );
    const trail = [...found.keys()].filter((index) => index <= now && index > now - TRAIL);
    return [...new Set([...spots.values(), ...trail])].sort((one, other) => one - other);
  }

  /**
   * `age` is 0 for the selected step, negative before it, positive after it.
   * @param {Reading} one
   * @param {number} age
   */
  dot(one, age) {
    const kind = age === 0 ? "now" : age > 0 ? "later" : "past";
    const opacity = age < 0 ? Math.max(0.16, 0.85 + age * 0.06).toFixed(2) : 1;
    const { broken } = one;
    const [x, y, r] = [this.x(one.h), this.y(one.mi), age === 0 ? 6.5 : age > 0 ? 2.5 : 4];
    const shape = broken
      ? svg("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, transform: `rotate(45 ${x} ${y})` })
      : svg("circle", { cx: x, cy: y, r });
    shape.setAttribute("class", `regime-dot regime-dot--${kind}${broken ? " regime-dot--broken" : ""}`);
    shape.setAttribute("fill-opacity", String(opacity));
    shape.append(
      svg(
        "title",
        {},
        `step ${one.step}: H(Z|X) ${number(one.h)}, MI / ln N ${number(one.mi)}, ${this.texts[one.regime].title}`,
      ),
    );
    shape.addEventListener("click", () => this.onStep(one.step));
    return shape;
  }
}

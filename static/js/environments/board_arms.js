// Bandits: a row of machines, each with a lever, its name and what it paid.

import { svg } from "../core/html.js";

/** @import { Drawing } from "../types.js" */

/** @typedef {NonNullable<Drawing["arms"]>[number]} Arm */

const WIDTH = 120;
const HEIGHT = 132;
const MOST = 24;
const NAME_LENGTH = 18;

/**
 * @param {Drawing} drawing
 * @param {{ previous: Drawing | null }} options
 */
export function drawArms(drawing, { previous }) {
  if (!Array.isArray(drawing.arms) || !drawing.arms.length || drawing.arms.length > MOST) return null;
  const root = svg("svg", {
    class: "board-svg board-svg--arms",
    viewBox: `-2 -2 ${drawing.arms.length * WIDTH + 4} ${HEIGHT + 4}`,
    role: "img",
  });
  root.append(svg("title", {}, describeArms(drawing)));
  drawing.arms.forEach((arm, index) => root.append(machine(arm, index, previous?.arms?.[index])));
  return root;
}

/** @param {Drawing} drawing */
export function describeArms(drawing) {
  const arms = Array.isArray(drawing.arms) ? drawing.arms : [];
  const labels = arms.map((arm) => `${arm.name}${arm.pulled ? `, pulled, paid ${paid(arm)}` : ""}`);
  return `${arms.length} arms: ${labels.join("; ")}`;
}

/**
 * @param {Drawing} previous
 * @param {Drawing} drawing
 */
export function changeOfArms(previous, drawing) {
  const arms = Array.isArray(drawing.arms) ? drawing.arms : [];
  const pulled = arms.filter((arm, index) => arm.pulled && !previous.arms?.[index]?.pulled);
  if (!pulled.length) return "Nothing changed.";
  return pulled.map((arm) => `${arm.name} was pulled and paid ${paid(arm)}.`).join(" ");
}

/** @param {Arm} arm */
const paid = (arm) => (typeof arm.reward === "number" ? arm.reward.toFixed(2).replace(/\.?0+$/, "") : "nothing yet");

/**
 * @param {Arm} arm
 * @param {number} index
 * @param {Arm | undefined} before
 */
function machine(arm, index, before) {
  const group = svg("g", {
    class: `board-machine${arm.pulled ? " board-machine--pulled" : ""}`,
    transform: `translate(${index * WIDTH} 0)`,
  });
  const lever = arm.pulled ? "M88 44 V70" : "M88 44 V18";
  group.append(
    svg("rect", { class: "board-cabinet", x: 22, y: 12, width: 60, height: 82, rx: 8 }),
    svg("rect", { class: "board-window", x: 30, y: 26, width: 44, height: 28, rx: 4 }),
    svg("text", { class: "board-payout", x: 52, y: 46 }, arm.pulled ? paid(arm) : "?"),
    svg("rect", { class: "board-tray", x: 34, y: 74, width: 36, height: 7, rx: 3 }),
    svg("path", { class: "board-lever", d: `M82 44 H88 ${lever}` }),
    svg("circle", { class: "board-knob", cx: 88, cy: arm.pulled ? 74 : 14, r: 6 }),
    svg("text", { class: "board-arm-name", x: 56, y: 116 }, short(String(arm.name))),
  );
  if (before && before.pulled !== arm.pulled) {
    group.append(svg("rect", { class: "board-changed", x: 6, y: 2, width: 100, height: 126, rx: 8 }));
  }
  return group;
}

/** @param {string} name */
function short(name) {
  const characters = [...name];
  return characters.length > NAME_LENGTH ? `${characters.slice(0, NAME_LENGTH - 1).join("")}…` : name;
}

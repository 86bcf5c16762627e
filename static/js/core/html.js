// HTML elements by class and properties, where core/dom.js makes them by attributes. Text never becomes markup, and its
// hidden characters are named.

import { asShown } from "./dom.js";
import { visible } from "./visible_text.js";

export { svg } from "./dom.js";

/** @type {("textContent" | "title" | "ariaLabel")[]} */
const SHOWN = ["textContent", "title", "ariaLabel"];

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {string} [className]
 * @param {Partial<HTMLElementTagNameMap[K]>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function html(name, className = "", properties = {}, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  Object.assign(element, properties);
  for (const key of SHOWN) if (properties[key]) element[key] = visible(String(properties[key]));
  element.append(...children.map(asShown));
  return element;
}

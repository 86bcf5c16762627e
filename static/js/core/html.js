// HTML elements by class and properties, where core/dom.js makes them by attributes. Text never becomes markup.

export { svg } from "./dom.js";

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
  element.append(...children);
  return element;
}

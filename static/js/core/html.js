// HTML elements by properties, beside the frame's SVG elements by attributes. Text never becomes markup.

export { svg } from "./dom.js";

/** An HTML element with a class, properties and children. */
export function html(name, className = "", properties = {}, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

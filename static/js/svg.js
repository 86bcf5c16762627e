// SVG elements by DOM calls alone: names, attributes and text never become markup.

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children; a string child becomes a text node. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  element.append(...children);
  return element;
}

/** An HTML element with a class, properties and children. */
export function html(name, className = "", properties = {}, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

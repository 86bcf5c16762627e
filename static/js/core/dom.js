// Elements without markup: text is always text, never HTML.

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  set(made, attributes);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

export function icon(name) {
  return svg("svg", { "aria-hidden": "true" }, svg("use", { href: `${document.body.dataset.icons}#${name}` }));
}

function set(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    target.setAttribute(name, value === true ? "" : value);
  }
}

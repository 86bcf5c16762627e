// Elements without markup: text is always text, never HTML, with its hidden characters named. And the elements that a
// template has.

import { visible } from "./visible_text.js";

/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */
/** @typedef {Node | string | null | undefined} Child */

const SVG = "http://www.w3.org/2000/svg";
const SHOWN = new Set(["title", "aria-label", "placeholder", "alt"]); // attributes that readers see or hear

/**
 * An HTML element by attributes. Children and attributes that are null or undefined are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  set(made, attributes);
  made.append(...children.filter(isGiven).map(asShown));
  return made;
}

/**
 * An SVG element by attributes.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  set(made, attributes);
  made.append(...children.map(asShown));
  return made;
}

/** @param {string} name */
export function icon(name) {
  return svg("svg", { "aria-hidden": "true" }, svg("use", { href: `${document.body.dataset.icons}#${name}` }));
}

/**
 * @param {Element} target
 * @param {Attributes} attributes
 */
function set(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    target.setAttribute(name, value === true ? "" : SHOWN.has(name) ? visible(String(value)) : String(value));
  }
}

/**
 * The element of the page with this id. The page's template has it: an error says that it does not.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [type]
 * @returns {T}
 */
export function byId(id, type) {
  return required(document.getElementById(id), `#${id}`, type);
}

/**
 * The first element below `root` that the selector finds; there has to be one.
 * @template {Element} [T=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} [type]
 * @returns {T}
 */
export function find(root, selector, type) {
  return required(root.querySelector(selector), selector, type);
}

/**
 * All elements below `root` that the selector finds; of a type that is given, they are of that type.
 * @template {Element} [T=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} [_type]
 * @returns {T[]}
 */
export function findAll(root, selector, _type) {
  return [.../** @type {NodeListOf<T>} */ (root.querySelectorAll(selector))];
}

/**
 * A named control of a form.
 * @template {Element} [T=HTMLInputElement]
 * @param {HTMLFormElement} form
 * @param {string} name
 * @param {new () => T} [type]
 * @returns {T}
 */
export function control(form, name, type) {
  const found = form.elements.namedItem(name);
  return required(found instanceof Element ? found : null, `control named ${name}`, type);
}

/**
 * The JSON that a template wrote into a script element.
 * @param {string} id
 */
export const jsonOf = (id) => JSON.parse(byId(id).textContent ?? "");

/**
 * The element that an event happened at, or the nearest around it that fits the selector.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export const targetWithin = (event, selector) =>
  event.target instanceof Element ? event.target.closest(selector) : null;

/**
 * @template {Element} T
 * @param {Element | null} found
 * @param {string} name
 * @param {(new () => T) | undefined} type
 * @returns {T}
 */
function required(found, name, type) {
  if (!found) throw new Error(`This page has no ${name}.`);
  if (type && !(found instanceof type)) throw new Error(`${name} is a ${found.tagName}, not a ${type.name}.`);
  return /** @type {T} */ (found);
}

/**
 * Text as it may be shown; nodes as they are.
 * @param {Node | string} child
 */
export const asShown = (child) => (typeof child === "string" ? visible(child) : child);

/**
 * @param {Child} child
 * @returns {child is Node | string}
 */
const isGiven = (child) => child !== null && child !== undefined;

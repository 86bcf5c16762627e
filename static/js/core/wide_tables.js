// A table that is wider than its place: the place takes the focus, so that it can be scrolled by keys. One that fits is
// no stop on the way through the page.

const places = () => document.querySelectorAll(".table-wrap");
const isScrolled = (place) => place.scrollWidth > place.clientWidth;

function fit(place) {
  if (isScrolled(place) && place.tabIndex < 0) {
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", nameOf(place));
  } else if (!isScrolled(place)) ["tabindex", "role", "aria-label"].forEach((name) => place.removeAttribute(name));
}

const nameOf = (place) =>
  place.querySelector("caption")?.textContent ??
  place.closest("section, details")?.querySelector("h1, h2, h3, summary")?.textContent ??
  "Table";

/** For as long as the page is open: windows and tables grow and shrink. */
export function keepWideTablesReachable() {
  const watch = new ResizeObserver((entries) => entries.forEach(({ target }) => fit(target.closest(".table-wrap"))));
  for (const place of places()) [place, place.firstElementChild].forEach((one) => watch.observe(one));
}

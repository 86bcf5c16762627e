// Keys of the frame: g then a letter goes to a page, t turns the theme, ? shows the list.

const PLACES = { r: "/runs/", t: "/trajectories/", e: "/environments/", l: "/leaderboard/", c: "/compare/" };

export function isTyping(event) {
  const at = event.target;
  return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
}

export function listen({ onTheme, onHelp, onPalette }) {
  let going = 0;
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      onPalette();
      return;
    }
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
      return;
    if (Date.now() - going < 1200 && PLACES[event.key]) {
      location.assign(PLACES[event.key]);
      return;
    }
    going = event.key === "g" ? Date.now() : 0;
    if (event.key === "t") onTheme();
    if (event.key === "?" && !event.defaultPrevented && !document.querySelector("[data-own-help]")) onHelp();
    if (event.key === "/") {
      const filter = document.querySelector("[data-filter]");
      if (filter) {
        event.preventDefault();
        filter.focus();
      }
    }
  });
}

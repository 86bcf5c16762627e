// The drawing of a page that may be asked for at any time: one at a time, begun at once. What comes meanwhile waits for
// the frame after it. None in a hidden tab.

/** The function that asks for `draw()`, which may take its time; `drawn()` is called in the frame after each. */
export function oneAtATime(draw, drawn = () => {}) {
  let underWay = false;
  let again = false;

  function ask() {
    again = true;
    if (underWay || document.hidden) return;
    underWay = true;
    queueMicrotask(begin);
  }

  async function begin() {
    again = false;
    try {
      await draw();
    } finally {
      requestAnimationFrame(() => {
        drawn();
        underWay = false;
        if (again) ask();
      });
    }
  }

  return ask;
}

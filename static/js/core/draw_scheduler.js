// Schedules drawings of a page: one at a time, begun at once. A request during a drawing waits until the page has rested
// for as long as the drawing took, so that updates which come faster than they can be drawn leave half of the time to the
// reader's clicks and to scripts that are still loading. A hidden tab draws nothing.

const LONGEST_REST = 1000; // milliseconds; a drawing may have waited for the network

/**
 * The function that requests `draw()`, which may be asynchronous; `drawn()` is called in the frame after each.
 * @param {() => void | Promise<void>} draw
 * @param {() => void} [drawn]
 */
export function oneAtATime(draw, drawn = () => {}) {
  let inProgress = false;
  let again = false;

  function schedule() {
    again = true;
    if (inProgress || document.hidden) return;
    inProgress = true;
    queueMicrotask(begin);
  }

  async function begin() {
    again = false;
    const began = performance.now();
    try {
      await draw();
    } finally {
      requestAnimationFrame(() => {
        drawn();
        setTimeout(rested, Math.min(performance.now() - began, LONGEST_REST));
      });
    }
  }

  function rested() {
    inProgress = false;
    if (again) schedule();
  }

  return schedule;
}

// Schedules drawings of a page: one at a time, begun at once. A request during a drawing waits for the next frame.
// A hidden tab draws nothing.

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
    try {
      await draw();
    } finally {
      requestAnimationFrame(() => {
        drawn();
        inProgress = false;
        if (again) schedule();
      });
    }
  }

  return schedule;
}

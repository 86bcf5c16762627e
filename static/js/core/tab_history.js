// The tabs of a page as steps of the browser's history: Back shows the earlier one where it had been scrolled to.

export class TabHistory {
  /**
   * `show(tab)` is called when the address names another tab, as after Back and Forward
   * @param {(tab: string) => void} show
   */
  constructor(show) {
    this.show = show;
    /** @type {string | null} */
    this.tab = null;
    /** @type {Map<string | null, number>} */
    this.scrolls = new Map(); // tab -> how far it was scrolled
    /** @type {number | null} */
    this.due = null; // how far the tab of Back or Forward is to be scrolled
    addEventListener("scroll", () => this.scrolls.set(this.tab, scrollY), { passive: true });
    // either alone is not enough: a hash may be typed, and entries that differ in more than the hash fire no hashchange
    for (const event of ["popstate", "hashchange"]) addEventListener(event, () => this.follow());
  }

  follow() {
    const tab = location.hash.slice(1);
    if (tab === this.tab) return;
    this.show(tab);
    this.due = this.scrolls.get(this.tab) ?? null;
    this.scroll();
  }

  /**
   * `tab` is shown; a step of the history where a person chose it, and otherwise the present one.
   * @param {string} tab
   * @param {boolean} chosen
   */
  shown(tab, chosen) {
    const address = `${location.pathname}${location.search}#${tab}`;
    if (chosen && tab !== this.tab) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.tab = tab;
  }

  /** After a drawing: only now a tab may be as long as it was. */
  drawn() {
    this.scroll();
    this.due = null;
  }

  scroll() {
    if (this.due !== null) scrollTo({ top: this.due, behavior: "instant" });
  }
}

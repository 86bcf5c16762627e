// The tabs of a page as steps of the browser's history: Back shows the earlier one where it had been scrolled to.

export class TabHistory {
  // `show(tab)` is called when the address names another tab, which Back and Forward make it do
  constructor(show) {
    this.show = show;
    this.tab = null;
    this.places = new Map(); // tab -> how far it was scrolled
    this.due = null; // how far the tab that was gone back to is to be scrolled
    addEventListener("scroll", () => this.places.set(this.tab, scrollY), { passive: true });
    // either alone is not enough: a hash may be typed, and of entries that differ in more than it browsers tell no change
    for (const news of ["popstate", "hashchange"]) addEventListener(news, () => this.follow());
  }

  follow() {
    const tab = location.hash.slice(1);
    if (tab === this.tab) return;
    this.show(tab);
    this.due = this.places.get(this.tab) ?? null;
    this.goThere();
  }

  /** `tab` is shown; a step of the history where a person chose it, and otherwise the present one. */
  shown(tab, chosen) {
    const address = `${location.pathname}${location.search}#${tab}`;
    if (chosen && tab !== this.tab) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.tab = tab;
  }

  /** After a drawing: only now a tab may be as long as it was. */
  drawn() {
    this.goThere();
    this.due = null;
  }

  goThere() {
    if (this.due !== null) scrollTo({ top: this.due, behavior: "instant" });
  }
}

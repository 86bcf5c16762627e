// A view that is nothing but the charts of some areas of metrics.

export class ChartsTab {
  constructor(panels, key) {
    this.panels = panels;
    this.key = key;
  }

  async draw({ store, view }) {
    await this.panels.draw(this.key, store, view);
  }
}

// A view that is nothing but the charts of one preset.

export class ChartsTab {
  constructor(panels, key) {
    this.panels = panels;
    this.key = key;
  }

  async draw({ store, view }) {
    await this.panels.draw(this.key, store, view);
  }
}

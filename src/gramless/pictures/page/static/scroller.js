// Very many cells, of which only those near the window are there. All are of one size, so places follow from numbers.

const AT_ONCE = 60; // cells whose contents are asked for together
const MARGIN = 2; // rows above and below the window
const GAP = 10;
const LEAST_WIDTH = 150;
const TEXT_HEIGHT = 56;

export class Scroller {
  // fetchSome(start, count) promises items; makeCell() an element; fill(cell, item, index) shows one.
  constructor(box, { fetchSome, makeCell, fill }) {
    Object.assign(this, { box, fetchSome, makeCell, fill });
    this.total = 0;
    this.items = new Map(); // by number
    this.cells = new Map(); // by number
    this.asked = new Set(); // starts of what was asked for
    this.age = 0; // of the contents: answers to older questions are too late
    this.range = [0, 0]; // of the cells that are there
    this.asking = null; // or the age of the contents that are being asked for
    let planned = false;
    const plan = () => {
      if (planned) return;
      planned = true;
      requestAnimationFrame(() => {
        planned = false;
        this.draw();
      });
    };
    addEventListener("scroll", plan, { passive: true });
    new ResizeObserver(plan).observe(box);
  }

  reset(total, start = 0, items = []) {
    this.age += 1;
    this.total = total;
    this.items.clear();
    this.asked.clear();
    for (const number of [...this.cells.keys()]) this.drop(number);
    this.take(start, items);
    this.draw();
  }

  // Contents have changed: what is seen is asked for again, and shown until then.
  refresh() {
    this.age += 1;
    this.asked.clear();
    this.draw();
  }

  take(start, items) {
    if (items.length && start % AT_ONCE === 0) this.asked.add(start);
    items.forEach((item, i) => {
      this.items.set(start + i, item);
      const cell = this.cells.get(start + i);
      if (cell) this.fill(cell, item, start + i);
    });
  }

  replace(item) {
    for (const [number, old] of this.items) {
      if (old.id !== item.id) continue;
      const merged = { ...item, value: old.value };
      this.items.set(number, merged);
      const cell = this.cells.get(number);
      if (cell) this.fill(cell, merged, number);
    }
  }

  get columns() {
    return Math.max(2, Math.floor((this.box.clientWidth + GAP) / (LEAST_WIDTH + GAP)));
  }

  get sizes() {
    const width = (this.box.clientWidth - GAP * (this.columns - 1)) / this.columns;
    const thumb = Math.round(width * 0.7);
    return { width, thumb, pitch: thumb + TEXT_HEIGHT + GAP };
  }

  draw() {
    const columns = this.columns;
    const { width, thumb, pitch } = this.sizes;
    const rows = Math.ceil(this.total / columns);
    this.box.style.height = `${Math.max(0, rows * pitch - GAP)}px`;
    this.box.style.setProperty("--thumb", `${thumb}px`);
    const top = -this.box.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / pitch) - MARGIN) * columns;
    const last = Math.min(this.total, (Math.ceil((top + innerHeight) / pitch) + MARGIN) * columns);
    for (const [number, cell] of this.cells) {
      if (number >= first && number < last) continue;
      if (cell === document.activeElement) continue; // the focus would fall to the body
      this.drop(number);
    }
    for (let number = first; number < last; number += 1) this.cellAt(number);
    for (const [number, cell] of this.cells) {
      const x = (number % columns) * (width + GAP);
      const y = Math.floor(number / columns) * pitch;
      cell.style.transform = `translate(${x}px, ${y}px)`;
      cell.style.width = `${width}px`;
      cell.style.height = `${pitch - GAP}px`;
    }
    this.range = [first, last];
    this.askForAll();
  }

  drop(number) {
    const cell = this.cells.get(number);
    // What nobody sees any more need not be loaded, or those on the screen would wait for all that were passed by.
    for (const image of cell.querySelectorAll("img")) image.removeAttribute("src");
    cell.remove();
    this.cells.delete(number);
  }

  cellAt(number) {
    let cell = this.cells.get(number);
    if (!cell) {
      cell = this.makeCell(number);
      this.cells.set(number, cell);
      this.box.append(cell);
      this.fill(cell, this.items.get(number), number);
    }
    return cell;
  }

  // One question after the other, always for what is there by then: what was scrolled past is not asked for.
  async askForAll() {
    const { age } = this;
    if (this.asking === age) return;
    this.asking = age;
    for (let start = this.unasked(); start !== undefined && age === this.age; start = this.unasked()) {
      if (!(await this.ask(start))) break;
    }
    if (this.asking === age) this.asking = null;
  }

  unasked() {
    const [first, last] = this.range;
    for (let start = first - (first % AT_ONCE); start < last; start += AT_ONCE) if (!this.asked.has(start)) return start;
  }

  async ask(start) {
    this.asked.add(start);
    const age = this.age;
    try {
      const items = await this.fetchSome(start, AT_ONCE);
      if (age === this.age) this.take(start, items);
      return true;
    } catch {
      if (age === this.age) this.asked.delete(start); // asked for again with the next scroll
      return false;
    }
  }

  async item(number) {
    const start = number - (number % AT_ONCE);
    if (!this.items.has(number)) await this.ask(start);
    return this.items.get(number);
  }

  reveal(number) {
    const { pitch } = this.sizes;
    const y = scrollY + this.box.getBoundingClientRect().top + Math.floor(number / this.columns) * pitch;
    if (y < scrollY + 8) scrollTo({ top: y - 8 });
    else if (y + pitch > scrollY + innerHeight) scrollTo({ top: y + pitch - innerHeight + 8 });
    this.draw();
    return this.cellAt(number);
  }
}

// The search over all metrics of a source: a combobox with a list.

import { element } from './panel.js';

const most = 50; // metrics that are listed

export class Search {
  // load returns a promise of all metrics; choose is called with the name of one.
  constructor(load, choose) {
    this.load = load;
    this.choose = choose;
    this.input = document.getElementById('search');
    this.results = document.getElementById('results');
    this.list = document.getElementById('found');
    this.count = document.getElementById('foundCount');
    this.input.addEventListener('focus', () => this.open());
    this.input.addEventListener('input', () => this.open());
    this.input.addEventListener('keydown', e => this.key(e));
    this.list.addEventListener('pointerdown', e => e.preventDefault()); // the focus stays
    this.list.addEventListener('click', e => {
      const item = e.target.closest('li');
      if (item) this.pick(item);
    });
    this.input.addEventListener('blur', () => this.close());
    this.reset();
  }

  // reset forgets the metrics, those of another source.
  reset() {
    this.metrics = null;
    this.close();
  }

  close() {
    this.results.hidden = true;
    this.input.setAttribute('aria-expanded', 'false');
    this.input.removeAttribute('aria-activedescendant');
  }

  async open() {
    this.results.hidden = false;
    this.input.setAttribute('aria-expanded', 'true');
    if (!this.metrics) {
      this.count.textContent = 'Reading the names of all metrics…';
      try {
        const all = await (this.loading ??= this.load());
        this.metrics = all.map(m => ({
          ...m, words: [m.name, m['text-oneline'], ...Object.entries(m.labels ?? {}).map(l => l.join('='))].join(' ').toLowerCase(),
        }));
      } catch (e) {
        this.list.replaceChildren();
        this.count.textContent = e.message;
        return;
      } finally {
        this.loading = null;
      }
      if (document.activeElement !== this.input) return;
    }
    this.show();
  }

  // show lists the metrics that have all words, those with the words in their names first.
  show() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rank = m => {
      if (!words.every(w => m.words.includes(w))) return 0;
      const name = m.name.toLowerCase();
      return 1 + words.reduce((n, w) => n + (name.includes(w) ? 1 : 0) + (name === w ? 9 : 0) + (name.split('.').includes(w) ? 1 : 0), 0);
    };
    const found = this.metrics.map(m => [rank(m), m]).filter(([r]) => r > 0).sort(([a], [b]) => b - a);
    this.list.replaceChildren(...found.slice(0, most).map(([, m], i) => this.item(m, i)));
    this.list.scrollTop = 0;
    this.count.textContent = found.length > most ? `${most} of ${found.length} metrics: type more to find yours` :
      found.length === 1 ? '1 metric' : `${found.length} metrics`;
    this.select(this.list.firstChild);
  }

  item(m, i) {
    const li = element('li');
    li.id = 'found' + i;
    li.setAttribute('role', 'option');
    li.dataset.name = m.name;
    li.append(element('b', '', m.name), element('span', '', m['text-oneline']));
    const labels = Object.entries(m.labels ?? {}).map(([k, v]) => `${k}: ${v}`).join(' · ');
    const help = m['text-help'] === m['text-oneline'] ? '' : m['text-help'];
    const facts = `${m.sem} · ${m.units === 'none' ? 'no units' : m.units}${labels && ' · ' + labels}`;
    li.append(element('span', 'more', help ? help.trim() + '\n' + facts : facts));
    return li;
  }

  select(item) {
    this.list.querySelector('[aria-selected="true"]')?.setAttribute('aria-selected', 'false');
    if (!item) {
      this.input.removeAttribute('aria-activedescendant');
      return;
    }
    item.setAttribute('aria-selected', 'true');
    item.scrollIntoView({ block: 'nearest' });
    this.input.setAttribute('aria-activedescendant', item.id);
  }

  key(e) {
    const now = this.list.querySelector('[aria-selected="true"]');
    switch (e.key) {
      case 'ArrowDown': this.select(now?.nextSibling ?? this.list.firstChild); break;
      case 'ArrowUp': this.select(now?.previousSibling ?? this.list.lastChild); break;
      case 'Enter': if (now && !this.results.hidden) this.pick(now); break;
      case 'Escape': this.input.value = ''; this.input.blur(); break;
      default: return;
    }
    e.preventDefault();
  }

  pick(item) {
    this.input.value = '';
    this.input.blur();
    this.choose(item.dataset.name);
  }
}

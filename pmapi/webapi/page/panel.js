// Panels are the cards of the page: a chart with its values as text, or a table.

import { draw, timeAt, colours } from './chart.js';
import { format } from './units.js';
import { valueAt } from './history.js';

const maxSeries = 12; // of one chart

// element makes an element. Texts of the collector are text, never HTML.
export function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

// A Panel shows what build(history, from, to) returns: null if there is nothing, or {series: [{name, points}], unit, stacked, top, big, waits}.
export class Panel {
  constructor(id, title, build, page) {
    this.build = build;
    this.page = page;
    this.root = element('article', 'card');
    this.root.dataset.panel = id;
    this.root.setAttribute('aria-label', title);
    this.header = element('header');
    this.header.append(element('h2', '', title));
    this.big = element('span', 'big');
    this.header.append(this.big);
    this.canvas = element('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'Chart of ' + title + ', whose values are in the list that follows');
    this.legend = element('ul', 'legend');
    this.none = element('p', 'none', 'No values in this time.');
    this.rest = element('p', 'more-of');
    this.root.append(this.header, this.canvas, this.legend, this.none, this.rest);
    this.canvas.addEventListener('pointermove', e => page.setCursor(timeAt(this.canvas, e.clientX, ...page.range())));
    this.canvas.addEventListener('pointerleave', () => page.setCursor(null));
  }

  // update draws the time from..to, and has the values of the time at.
  update(history, from, to, cursor) {
    const data = this.build(history, from, to);
    this.root.hidden = data === null;
    if (data === null) return;
    const at = cursor ?? to;
    const reach = history.reachOf(this.name);
    const now = data.series.map(s => ({ ...s, value: valueAt(s.points, at, reach) }));
    const shown = this.choose(now, data);
    shown.forEach((s, i) => { s.colour = i % colours; });
    this.canvas.hidden = data.isText || shown.length === 0 && !data.waits;
    this.none.hidden = shown.length > 0 || data.waits;
    this.rest.hidden = now.length <= shown.length;
    this.rest.textContent = `${now.length - shown.length} more: filter to see them`;
    this.show(shown, data);
    this.big.textContent = data.big ? data.big(at, reach) : '';
    if (!this.canvas.hidden) draw(this.canvas, { ...data, series: shown }, from, to, cursor);
  }

  // choose are the series that are shown: all, or the largest in the order in which they come.
  choose(all, data) {
    if (all.length <= maxSeries || data.stacked) return all;
    const last = s => (typeof s.value === 'number' ? s.value : -Infinity);
    const largest = new Set([...all].sort((a, b) => last(b) - last(a)).slice(0, maxSeries));
    return all.filter(s => largest.has(s));
  }

  // show makes the list of values, reusing its items: focus and selection stay.
  show(shown, data) {
    this.legend.classList.toggle('texts', data.isText === true);
    while (this.legend.children.length > shown.length) this.legend.lastChild.remove();
    shown.forEach((s, i) => {
      let item = this.legend.children[i];
      if (!item) {
        item = element('li');
        item.append(element('i'), element('span'), element('b'));
        this.legend.append(item);
      }
      const text = data.isText ? String(s.value ?? '–') : format(s.value, data.unit);
      item.children[0].style.background = data.isText ? 'transparent' : `var(--c${s.colour})`;
      setText(item.children[1], s.name);
      item.children[1].title = s.name;
      setText(item.children[2], text);
      if (data.isText) item.children[2].title = text;
      item.dataset.series = s.name;
      item.dataset.value = s.value ?? '';
    });
  }
}

function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// MetricPanel is the Panel of one metric that was chosen.
export class MetricPanel extends Panel {
  constructor(name, filter, page, changed, remove) {
    super(name, name, (h, from, to) => this.data(h, from, to), page);
    this.name = name;
    this.text = element('p', 'text');
    this.header.after(this.text);
    const close = element('button', 'close', '×');
    close.type = 'button';
    close.setAttribute('aria-label', 'Remove ' + name);
    close.addEventListener('click', remove);
    this.header.append(close);
    this.filter = element('input', 'filter');
    this.filter.type = 'search';
    this.filter.placeholder = 'Filter instances';
    this.filter.setAttribute('aria-label', 'Filter instances of ' + name);
    this.filter.value = filter;
    this.filter.addEventListener('input', changed);
    this.root.insertBefore(this.filter, this.canvas);
    this.root.append(this.about());
  }

  // data are the series of the metric, by instance.
  data(history, from, to) {
    const metric = history.metrics.get(this.name);
    if (!metric) return { series: [], unit: { kind: 'number', suffix: '' } };
    setText(this.text, metric.error ? 'There is no such metric here: ' + metric.error : metric.text);
    this.filter.hidden = !metric.indom;
    if (metric.error) return { series: [], unit: { kind: 'number', suffix: '' } };
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const series = [];
    for (const [name, points] of history.series(this.name, from, to)) {
      const lower = name.toLowerCase();
      if (words.length && !words.some(w => lower.includes(w))) continue;
      series.push({ name: name || 'value', points });
    }
    return { series, unit: metric.unit, isText: metric.isText, waits: metric.unit.isRate && history.samples.length < 3 }; // a rate comes with the second sample
  }

  // about is the help text and the labels, fetched when they are wanted.
  about() {
    const details = element('details', 'about');
    details.append(element('summary', '', 'About this metric'));
    details.addEventListener('toggle', async () => {
      if (!details.open || details.children.length > 1) return;
      const help = element('p', '', '…');
      details.append(help);
      try {
        const m = (await this.page.ask('pmapi/metric', { names: this.name })).metrics[0];
        help.textContent = m['text-help'] || m['text-oneline'] || 'It has no help text.';
        details.append(element('p', '', `${m.sem}, ${m.type}, units: ${m.units}, PMID ${m.pmid}`));
        const labels = Object.entries(m.labels ?? {}).map(([k, v]) => `${k}: ${v}`).join('\n');
        if (labels) details.append(element('p', '', labels));
      } catch (e) {
        help.textContent = e.message;
      }
    });
    return details;
  }
}

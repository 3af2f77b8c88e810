// The page: what is shown, of which time, and what keys and buttons do.

import { History } from './history.js';
import { Stream, Archive, ask } from './source.js';
import { MetricPanel, element } from './panel.js';
import { vitalPanels, vitalNames, processNames, slowNames } from './vitals.js';
import { Search } from './search.js';
import { windows, readView, writeView } from './view.js';
import { clock, duration } from './units.js';

const keep = 1800; // seconds of live values that are kept, of which the server sends those of the last minute to who is new
const byID = id => document.getElementById(id);

class Page {
  constructor() {
    this.history = new History(keep);
    this.cursor = null; // the time under the pointer
    this.bounds = null; // of an archive: {start, end}
    this.wrong = '';
    const report = text => this.report(text), changed = () => this.changed();
    this.stream = new Stream(this.history, report, changed);
    this.archive = new Archive(this.history, report, changed);
    this.vitals = vitalPanels(this);
    byID('vitals').append(...this.vitals.map(p => p.root));
    this.added = [];
    this.search = new Search(async () => (await this.ask('pmapi/metric', {})).metrics, name => this.add(name));
    this.prepareControls();
    window.addEventListener('hashchange', () => this.show(readView(location.hash)));
    new ResizeObserver(() => this.redraw()).observe(byID('charts'));
    this.loadSources();
    this.show(readView(location.hash));
  }

  // ask asks the server about the source that is shown.
  ask(path, params) {
    return ask(path, this.view.source ? { ...params, hostspec: this.view.source } : params);
  }

  // show shows a view.
  async show(view) {
    const other = !this.view || view.source !== this.view.source;
    const again = !other && view.interval !== this.view.interval;
    this.view = view;
    this.setCharts(view.charts);
    if (other || again) {
      this.stream.close();
      this.archive.close();
      this.history.clear();
    }
    if (other) {
      this.search.reset();
      this.setState('connecting');
      this.report('');
      if (!await this.findBounds(view)) return;
    }
    this.fillWindows();
    this.reload();
  }

  // findBounds finds out whether the source is an archive. It is false if there is another view meanwhile, or no answer.
  async findBounds(view) {
    this.bounds = null;
    if (!view.source) return true;
    try {
      const { start, end } = await ask('live/past', { hostspec: view.source });
      if (view !== this.view) return false;
      this.bounds = { start, end };
      if (!location.hash.includes('window=')) view.window = Math.max(60, Math.min(3600, Math.round(end - start)));
      this.history.keep = Infinity;
    } catch (e) {
      if (view !== this.view) return false;
      this.history.keep = keep;
      if (!/no archive|cannot connect/.test(e.message)) {
        this.report(`The source ${view.source} cannot be shown: ${e.message}`);
        this.setState('lost');
        return false;
      }
    }
    return true;
  }

  // reload requests the values of what is shown.
  reload() {
    this.saveView();
    const names = [...new Set([...vitalNames, ...this.view.charts.map(c => c.name)])];
    if (this.bounds) {
      const [from, to] = this.range();
      const there = processNames.filter(n => this.history.metrics.get(n)?.error === undefined && !names.includes(n));
      this.archive.load(this.view.source, from, to, names, there, Math.max(120, this.view.window / 60));
      this.setState('archive');
    } else {
      this.stream.open(this.view.source, this.view.interval, [...new Set([...names, ...processNames])], slowNames);
    }
    this.redraw();
  }

  // limits are the first and the last time that can be shown.
  limits() {
    if (this.bounds) return [this.bounds.start, this.bounds.end];
    return [this.history.first, this.history.last];
  }

  // range is the time that is shown.
  range() {
    const [first, last] = this.limits();
    const to = this.view.at === null ? last : Math.min(Math.max(this.view.at, first), last);
    return [to - this.view.window, to];
  }

  setCursor(t) {
    this.cursor = t;
    this.redraw();
  }

  // moveTo moves the end of the time that is shown; null or what is not before the last time follow that.
  moveTo(t) {
    const [first, last] = this.limits();
    if (t !== null) t = Math.max(t, first);
    this.view.at = t === null || t >= last ? (this.bounds || t === null ? null : last) : t;
    this.moved();
  }

  moved() {
    if (this.bounds) this.reload();
    else {
      this.saveView();
      this.redraw();
    }
  }

  pauseOrGoOn() {
    if (this.bounds) return;
    this.view.at = this.view.at === null ? this.history.last || null : null;
    this.moved();
  }

  setWindow(seconds) {
    this.view.window = seconds;
    this.fillWindows();
    this.moved();
  }

  // add adds a chart, or goes to the one that there is.
  add(name) {
    if (!this.view.charts.some(c => c.name === name)) {
      this.view.charts.push({ name, filter: '' });
      this.setCharts(this.view.charts);
      this.reload();
    }
    this.added.find(p => p.name === name).root.scrollIntoView({ block: 'center' });
  }

  // setCharts makes the cards of the chosen metrics, keeping those that there are.
  setCharts(charts) {
    this.added = charts.map(c => {
      const panel = this.added.find(p => p.name === c.name) ?? new MetricPanel(c.name, c.filter, this, () => this.filterChanged(), () => this.remove(c.name));
      if (document.activeElement !== panel.filter) panel.filter.value = c.filter;
      return panel;
    });
    byID('added').replaceChildren(...this.added.map(p => p.root));
  }

  remove(name) {
    this.view.charts = this.view.charts.filter(c => c.name !== name);
    this.setCharts(this.view.charts);
    this.reload();
    byID('search').focus({ preventScroll: true });
    this.search.close();
  }

  filterChanged() {
    for (const p of this.added) this.view.charts.find(c => c.name === p.name).filter = p.filter.value.trim();
    this.saveView();
    this.redraw();
  }

  saveView() {
    window.history.replaceState(null, '', writeView(this.view) || location.pathname + location.search);
  }

  report(text) {
    this.wrong = text;
    const notice = byID('notice');
    notice.hidden = text === '';
    if (notice.textContent !== text) notice.textContent = text;
    if (text) this.setState('lost');
  }

  setState(state) {
    document.body.dataset.state = state;
    const words = { connecting: 'connecting', live: 'live', paused: 'paused', lost: 'no connection', archive: 'archive' };
    if (byID('state').textContent !== words[state]) byID('state').textContent = words[state];
  }

  // changed is called when there are other values.
  changed() {
    if (!this.wrong) this.setState(this.bounds ? 'archive' : this.view.at === null ? 'live' : 'paused');
    byID('host').textContent = this.history.host || '…';
    document.title = this.history.host ? this.history.host + ' – metrics' : 'Metrics';
    this.redraw();
  }

  // redraw draws everything with the next frame of the screen.
  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    if (!this.view) return;
    const [from, to] = this.range();
    for (const p of [...this.vitals, ...this.added]) p.update(this.history, from, to, this.cursor);
    const [first, last] = this.limits();
    const position = byID('position');
    position.min = Math.min(first, last - 1); // of one time alone, too, the end is on the right
    position.max = last;
    position.value = to;
    position.setAttribute('aria-valuetext', clock(to, true));
    byID('when').textContent = to > 0 ? clock(to) : '';
    const pause = byID('pause');
    pause.hidden = this.bounds !== null;
    pause.textContent = this.view.at === null ? 'Pause' : 'Go live';
    if (!this.wrong && !this.bounds && this.history.last) this.setState(this.view.at === null ? 'live' : 'paused');
    byID('empty').hidden = this.history.metrics.size === 0 || this.added.length > 0 || this.vitals.some(p => !p.root.hidden);
  }

  fillWindows() {
    const select = byID('window');
    const longest = this.bounds ? Infinity : keep;
    const list = windows.filter(([s]) => s <= longest);
    if (!list.some(([s]) => s === this.view.window)) list.push([this.view.window, duration(this.view.window)]);
    list.sort((a, b) => a[0] - b[0]);
    select.replaceChildren(...list.map(([s, text]) => {
      const o = element('option', '', text);
      o.value = s;
      return o;
    }));
    select.value = this.view.window;
  }

  // loadSources fills the list of sources; one of the address may be missing in it.
  async loadSources() {
    const select = byID('source');
    const option = (value, text) => {
      const o = element('option', '', text);
      o.value = value;
      return o;
    };
    let sources = [], hosts = [];
    try {
      ({ sources, hosts } = await ask('live/sources', {}));
    } catch { // the stream says what is wrong
    }
    if (this.view?.source && !sources.includes(this.view.source) && !hosts.includes(this.view.source)) hosts.push(this.view.source);
    select.replaceChildren(option('', 'This host'), ...hosts.map(s => option(s, s)), ...sources.map(s => option(s, 'Archive ' + s)));
    select.hidden = select.options.length === 1;
    select.value = this.view?.source ?? '';
  }

  prepareControls() {
    byID('pause').addEventListener('click', () => this.pauseOrGoOn());
    byID('position').addEventListener('input', e => this.moveTo(Number(e.target.value)));
    byID('window').addEventListener('change', e => this.setWindow(Number(e.target.value)));
    byID('source').addEventListener('change', e => this.show({ ...this.view, source: e.target.value, at: null }));
    byID('help').addEventListener('click', () => byID('shortcuts').showModal());
    byID('theme').addEventListener('click', () => this.toggleTheme());
    document.addEventListener('keydown', e => this.key(e));
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', () => this.setTheme());
    this.setTheme();
  }

  // setTheme is light or dark as the user has chosen, or else as the system is.
  setTheme() {
    let chosen = null;
    try {
      chosen = localStorage.getItem('theme');
    } catch { // storage is forbidden
    }
    const dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    this.redraw();
  }

  toggleTheme() {
    const other = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem('theme', other);
      this.setTheme();
    } catch {
      document.documentElement.dataset.theme = other;
      this.redraw();
    }
  }

  // key does what the list of shortcuts says.
  key(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || byID('shortcuts').open || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const [, to] = this.range();
    const lengths = [...byID('window').options].map(o => Number(o.value));
    const length = lengths.indexOf(this.view.window);
    const by = this.view.window * (e.shiftKey ? 1 : 0.1);
    switch (e.key) {
      case '/': byID('search').focus(); break;
      case ' ':
        if (/^(BUTTON|SUMMARY)$/.test(e.target.tagName)) return;
        this.pauseOrGoOn();
        break;
      case 'ArrowLeft': this.moveTo(to - by); break;
      case 'ArrowRight': this.moveTo(to + by); break;
      case 'End': this.moveTo(null); break;
      case '+': case '=': if (length > 0) this.setWindow(lengths[length - 1]); break;
      case '-': if (length < lengths.length - 1) this.setWindow(lengths[length + 1]); break;
      case 't': this.toggleTheme(); break;
      case '?': byID('shortcuts').showModal(); break;
      default: return;
    }
    e.preventDefault();
  }
}

new Page();

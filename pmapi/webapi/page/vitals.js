// The vital signs of a host: what each card shows, and of which metrics.

import { Panel, element } from './panel.js';
import { combine, total, valueAt } from './history.js';
import { format } from './units.js';

const percent = { kind: 'percent', suffix: '' };
const bytes = { kind: 'bytes', suffix: '' };
const bytesRate = { kind: 'bytes', suffix: '/s' };
const number = { kind: 'number', suffix: '' };

const cpu = 'kernel.all.cpu.';
const network = 'network.interface.';
const slow = 5; // processes are fetched once in so many intervals

// vitalNames are the metrics of all cards; those of processes, which are costly, come last and seldom.
export const vitalNames = [
  cpu + 'user', cpu + 'nice', cpu + 'sys', cpu + 'irq.hard', cpu + 'irq.soft', cpu + 'wait.total', cpu + 'steal', cpu + 'idle', 'hinv.ncpu',
  'mem.physmem', 'mem.util.available', 'mem.util.free', 'kernel.all.load', 'disk.all.read_bytes', 'disk.all.write_bytes',
  network + 'in.bytes', network + 'out.bytes', 'kernel.all.uptime',
];
export const processNames = ['proc.psinfo.utime', 'proc.psinfo.stime', 'proc.psinfo.rss'];
export const slowNames = new Map(processNames.map(name => [name, slow]));

const add = (...values) => values.reduce((a, b) => a + b, 0);

// one is the only series of a metric.
function one(history, name, from, to) { return history.series(name, from, to).values().next().value; }

// sum is the sum of metrics that are there.
function sum(history, names, from, to) {
  return combine(names.filter(n => history.has(n)).map(n => one(history, n, from, to)), add);
}

function processors(history, from, to) {
  if (!history.has(cpu + 'idle') || !history.has(cpu + 'user')) return null;
  const parts = [['user', ['user', 'nice']], ['system', ['sys', 'irq.hard', 'irq.soft']], ['I/O wait', ['wait.total']], ['stolen', ['steal']]];
  const names = list => list.map(n => cpu + n);
  // Shares of all time that has passed; guests are within user.
  const all = sum(history, names(['user', 'nice', 'sys', 'irq.hard', 'irq.soft', 'wait.total', 'steal', 'idle']), from, to);
  const series = parts.filter(([, list]) => names(list).some(n => history.has(n))).map(([name, list]) => ({
    name, points: combine([sum(history, names(list), from, to), all], (v, total) => total > 0 ? 100 * v / total : 0),
  }));
  const busy = combine(series.filter(s => s.name !== 'I/O wait').map(s => s.points), add);
  return { series, unit: percent, stacked: true, top: 100, fixed: true, big: (at, reach) => format(valueAt(busy, at, reach), percent) };
}

function memory(history, from, to) {
  if (!history.has('mem.physmem') || !history.has('mem.util.free')) return null;
  const get = name => one(history, name, from, to);
  const total = get('mem.physmem'), free = get('mem.util.free');
  const available = history.has('mem.util.available') ? get('mem.util.available') : free;
  const used = combine([total, available], (a, b) => a - b);
  const series = [{ name: 'used', points: used }];
  if (available !== free) series.push({ name: 'cache', points: combine([available, free], (a, b) => Math.max(0, a - b)) });
  const size = total ? valueAt(total, to, Infinity) : null;
  return {
    series, unit: bytes, stacked: true, top: size ?? undefined, fixed: true,
    big: (at, reach) => { const v = valueAt(used, at, reach); return v === null ? '–' : `${format(v, bytes)} of ${format(size, bytes)}`; },
  };
}

function load(history, from, to) {
  if (!history.has('kernel.all.load')) return null;
  const series = [...history.series('kernel.all.load', from, to)].map(([name, points]) => ({ name, points }));
  return { series, unit: number, top: 1, big: (at, reach) => (series.length ? format(valueAt(series[0].points, at, reach), number) : '') };
}

// pair is a card of two metrics, of which each is the sum of its instances that count.
function pair(names, words, counts = () => true) {
  return (history, from, to) => {
    if (!names.some(n => history.has(n))) return null;
    const series = names.map((name, i) => {
      const all = [...history.series(name, from, to)].filter(([inst]) => counts(inst)).map(([, points]) => points);
      return { name: words[i], points: total(all) };
    });
    const big = (at, reach) => {
      const values = series.map(s => valueAt(s.points, at, reach)).filter(v => v !== null);
      return format(values.length ? add(...values) : null, bytesRate);
    };
    return { series, unit: bytesRate, top: 1024, big };
  };
}

// ProcessPanel is a table of the processes that take most of the processors' time.
class ProcessPanel {
  constructor() {
    this.root = element('article', 'card');
    this.root.dataset.panel = 'processes';
    this.root.setAttribute('aria-label', 'Top processes');
    const header = element('header');
    header.append(element('h2', '', 'Top processes'));
    const table = element('table');
    const head = element('tr');
    for (const text of ['Process', 'CPU', 'Memory']) {
      const th = element('th', '', text);
      th.scope = 'col';
      head.append(th);
    }
    const top = element('thead');
    top.append(head);
    this.body = element('tbody');
    table.append(top, this.body);
    this.root.append(header, table);
  }

  update(history, from, to, cursor) {
    this.root.hidden = !processNames.every(n => history.has(n));
    if (this.root.hidden) return;
    const at = cursor ?? to;
    const reach = history.reachOf(processNames[0]);
    const [user, system, size] = processNames.map(n => history.series(n, at - 2 * reach, at));
    const rows = [];
    for (const [name, points] of user) {
      const u = valueAt(points, at, reach), s = system.get(name) && valueAt(system.get(name), at, reach);
      if (u === null || s === null || s === undefined) continue;
      rows.push({ name, cpu: u + s, memory: size.get(name) ? valueAt(size.get(name), at, reach) : null });
    }
    rows.sort((a, b) => b.cpu - a.cpu || (b.memory ?? 0) - (a.memory ?? 0));
    this.body.replaceChildren(...rows.slice(0, 8).map(row => {
      const tr = element('tr');
      const name = element('td', '', row.name.replace(/^0*(\d+) /, '$1 '));
      name.title = row.name;
      tr.append(name, element('td', '', format(row.cpu, percent)), element('td', '', format(row.memory, bytes)));
      return tr;
    }));
  }
}

// vitalPanels makes the cards.
export function vitalPanels(page) {
  return [
    new Panel('cpu', 'CPU', processors, page),
    new Panel('memory', 'Memory', memory, page),
    new Panel('load', 'Load', load, page),
    new Panel('disk', 'Disks', pair(['disk.all.read_bytes', 'disk.all.write_bytes'], ['read', 'written']), page),
    new Panel('network', 'Network', pair([network + 'in.bytes', network + 'out.bytes'], ['received', 'sent'], inst => inst !== 'lo'), page),
    new ProcessPanel(),
  ];
}

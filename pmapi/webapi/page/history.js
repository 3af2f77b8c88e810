// History keeps the samples that the page has, of a live source or of a piece of an archive.

import { unitOf } from './units.js';

export class History {
  constructor(keep) {
    this.keep = keep; // seconds
    this.clear();
  }

  clear() {
    this.host = '';
    this.samples = []; // {t, v: {name: [instance, value, ...] or null}}, by time
    this.metrics = new Map(); // what the server says of them, with their units
    this.instances = new Map(); // of domains: Map of names by number
    this.step = 1; // seconds between samples
    this.reach = 0; // seconds for which a value holds at least, where there is no other
    this.slow = new Map(); // metrics that are not in each sample: in one of so many
  }

  get first() { return this.samples.length ? this.samples[0].t : 0; }
  get last() { return this.samples.length ? this.samples[this.samples.length - 1].t : 0; }

  // describe takes what is new of metrics and instances.
  describe(meta) {
    this.host = meta.host;
    for (const [name, m] of Object.entries(meta.metrics)) {
      if (!m.error) {
        m.unit = unitOf(m);
        m.isText = m.type === 'string' || m.type.startsWith('aggregate') || m.type.includes('event');
      }
      this.metrics.set(name, m);
    }
    for (const [domain, names] of Object.entries(meta.instances)) {
      if (!this.instances.has(domain)) this.instances.set(domain, new Map());
      const known = this.instances.get(domain);
      for (const [id, name] of Object.entries(names)) known.set(Number(id), name);
    }
  }

  // add takes a sample; values of a time that is known are added to those.
  add(sample) {
    const all = this.samples;
    let i = all.length;
    while (i > 0 && all[i - 1].t > sample.t) i--;
    if (i > 0 && all[i - 1].t === sample.t) Object.assign(all[i - 1].v, sample.v);
    else all.splice(i, 0, sample);
    let old = 0;
    while (all[old].t < this.last - this.keep) old++;
    if (old > 0) all.splice(0, old);
  }

  // reachOf is how long a value of a metric holds where there is no other.
  reachOf(name) { return Math.max(this.reach, 3.5 * this.step * (this.slow.get(name) ?? 1)); }

  // has reports whether a metric is known, and that it is there.
  has(name) {
    const m = this.metrics.get(name);
    return m !== undefined && !m.error;
  }

  nameOf(metric, id) {
    if (id === null) return '';
    return this.instances.get(metric.indom)?.get(id) ?? String(id);
  }

  // series are the values of a metric in a time by the names of its instances, each a list of [time, value] in the metric's unit. A
  // value null is a gap: nothing was fetched, or a counter has begun anew.
  series(name, from, to) {
    const out = new Map();
    const metric = this.metrics.get(name);
    if (!metric || metric.error) return out;
    const gap = 3.5 * this.step * (this.slow.get(name) ?? 1);
    const before = new Map(); // the last sample by instance
    const { factor, isRate } = metric.unit;
    for (const { t, v } of this.samples) {
      if (t < from - gap || t > to) continue;
      const values = v[name];
      if (!values) continue;
      for (let i = 0; i < values.length; i += 2) {
        const id = values[i], value = values[i + 1];
        const last = before.get(id);
        before.set(id, [t, value]);
        let points = out.get(id);
        if (!points) out.set(id, points = []);
        if (last && t - last[0] > gap) points.push([last[0], null]);
        if (metric.isText) points.push([t, value]);
        else if (value === null) points.push([t, null]);
        else if (!isRate) points.push([t, value * factor]);
        else if (last && last[1] !== null && t > last[0] && t - last[0] <= gap)
          points.push([t, value < last[1] ? null : (value - last[1]) / (t - last[0]) * factor]);
      }
    }
    const named = new Map();
    for (const [id, points] of out) if (points.length) named.set(this.nameOf(metric, id), points);
    return named;
  }
}

// valueAt is the last value of points that is not after a time and not far before it.
export function valueAt(points, t, reach) {
  for (let i = points.length - 1; i >= 0; i--) {
    if (points[i][0] <= t + 1e-6) return t - points[i][0] <= reach ? points[i][1] : null;
  }
  return null;
}

// total adds series at each time that any of them has, so that what comes and goes, as a container's network does, counts while it is there.
export function total(list) {
  const sums = new Map();
  for (const points of list) {
    for (const [t, v] of new Map(points)) {
      const sum = sums.get(t) ?? null;
      sums.set(t, sum === null ? v : sum + (v ?? 0));
    }
  }
  return [...sums].sort(([a], [b]) => a - b);
}

// combine adds or otherwise combines series, at the times that all of them have.
export function combine(list, f) {
  if (list.length === 0 || list.some(points => !points)) return [];
  const rest = list.slice(1).map(points => new Map(points));
  const out = [];
  for (const [t, v] of list[0]) {
    const values = [v, ...rest.map(m => m.get(t))];
    if (values.some(x => x === undefined)) continue;
    out.push([t, values.includes(null) ? null : f(...values)]);
  }
  return out;
}

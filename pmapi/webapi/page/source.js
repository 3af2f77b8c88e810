// Where samples come from: a stream of a live source, or pieces of an archive.

// ask makes a request, whose reply is JSON. An error says what is wrong in the server's words.
export async function ask(path, params, signal) {
  let reply;
  try {
    reply = await fetch(path + '?' + new URLSearchParams(params), { signal });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Error('The server does not answer.');
  }
  const body = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Error(body.message || `The server has replied ${reply.status}.`);
  return body;
}

const firstDelay = 1000, longestDelay = 10000; // milliseconds

// A Stream fills a history with values as they come, and connects again when it is lost.
export class Stream {
  constructor(history, report, changed) {
    this.history = history;
    this.report = report; // of what is wrong, '' if nothing is
    this.changed = changed;
    this.delay = firstDelay;
  }

  // open watches metrics; those of slow only at each so many intervals.
  open(spec, interval, names, slow) {
    this.close();
    this.history.step = interval;
    this.history.slow = slow;
    const list = names.map(n => (slow.has(n) ? `${n}@${slow.get(n)}` : n)).join();
    const params = new URLSearchParams({ interval, names: list });
    if (spec) params.set('hostspec', spec);
    this.url = 'live/events?' + params;
    this.connect();
  }

  close() {
    clearTimeout(this.timer);
    this.events?.close();
    this.events = null;
  }

  connect() {
    const events = this.events = new EventSource(this.url);
    events.addEventListener('meta', e => this.history.describe(JSON.parse(e.data)));
    events.addEventListener('values', e => {
      this.history.add(JSON.parse(e.data));
      this.delay = firstDelay;
      this.report('');
      this.changed();
    });
    events.addEventListener('failure', e => {
      this.report(`The collector does not answer (${JSON.parse(e.data).message}). Trying again.`);
      this.changed();
    });
    events.addEventListener('error', () => this.lost(events));
  }

  // lost finds out what is wrong, and tries again after a while.
  async lost(events) {
    if (events !== this.events) return;
    this.close();
    const url = this.url;
    this.timer = setTimeout(() => this.connect(), this.delay);
    this.delay = Math.min(2 * this.delay, longestDelay);
    this.report('The connection to the server is lost. Trying again.');
    const stop = new AbortController();
    try {
      const reply = await fetch(url, { signal: stop.signal });
      const message = reply.ok ? '' : (await reply.json()).message;
      if (message && url === this.url && !this.events) this.report(`The server says: ${message}. Trying again.`);
    } catch { // it does not answer, which has been said
    } finally {
      stop.abort();
    }
  }
}

const points = 240; // samples of a piece
const slowPoints = 4; // of what is slow, which is recorded seldom: at the end of an archive its last value may be a while ago

// An Archive fills a history with pieces of an archive.
export class Archive {
  constructor(history, report, changed) {
    this.history = history;
    this.report = report;
    this.changed = changed;
  }

  // load loads the values of the time from..to, once the last call is a moment ago: of the metrics of names, and of those of slow
  // only what makes rates at its end, over so many seconds.
  load(spec, from, to, names, slow, over) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.loadNow(spec, from, to, names, slow, over), 60);
  }

  close() {
    clearTimeout(this.timer);
    this.stop?.abort();
  }

  async loadNow(spec, from, to, names, slow, over) {
    this.stop?.abort();
    const stop = this.stop = new AbortController();
    const step = Math.max((to - from) / points, 0.001);
    const piece = (start, distance, count, list) => list.length > 0 && ask('live/past',
      { hostspec: spec, names: list.join(), start: Math.max(start, 1).toFixed(6), step: distance.toFixed(6), count }, stop.signal);
    try {
      // Rates need a sample before.
      const replies = await Promise.all([piece(from - step, step, points + 2, names), piece(to - over, over / slowPoints, slowPoints + 1, slow)]);
      const h = this.history;
      h.clear();
      h.step = step;
      h.reach = (to - from) / 20;
      h.slow = new Map(slow.map(n => [n, Math.max(1, over / step)]));
      for (const reply of replies) {
        if (!reply) continue;
        h.describe(reply.meta);
        for (const sample of reply.samples) h.add(sample);
      }
      this.report('');
      this.changed();
    } catch (e) {
      if (e.name !== 'AbortError') this.report(`The archive cannot be read: ${e.message}`);
    }
  }
}

// Units: how raw values of PCP become numbers for people.

const seconds = [1e-9, 1e-6, 1e-3, 1, 60, 3600];

// unitOf says what values of a metric are once they are multiplied by its factor: counters are shown as rates.
export function unitOf(metric) {
  const [space, time, count, spaceScale, timeScale, countScale] = metric.dim;
  const isRate = metric.sem === 'counter';
  const per = isRate ? '/s' : '';
  const dims = [space, time, count].join();
  switch (dims) {
    case '1,0,0': return { kind: 'bytes', factor: 1024 ** spaceScale, suffix: per, isRate };
    case '0,1,0': return isRate ?
      { kind: 'percent', factor: 100 * seconds[timeScale], suffix: '', isRate } :
      { kind: 'seconds', factor: seconds[timeScale], suffix: '', isRate };
    case '0,0,1': return { kind: 'number', factor: 10 ** countScale, suffix: per, isRate };
    case '0,0,0': return { kind: 'number', factor: 1, suffix: (metric.units && ' ' + metric.units) + per, isRate }; // as of temperature
    case '1,-1,0': return { kind: 'bytes', factor: 1024 ** spaceScale / seconds[timeScale], suffix: '/s' + per, isRate };
    case '0,-1,1': return { kind: 'number', factor: 10 ** countScale / seconds[timeScale], suffix: '/s' + per, isRate };
  }
  return { kind: 'number', factor: 1, suffix: ' ' + metric.units + per, isRate };
}

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const decimal = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

// scaleFor chooses a divisor and a word for values up to a size.
export function scaleFor(unit, size) {
  size = Math.abs(size);
  const step = (base, words) => {
    let i = 0;
    for (; size >= base && i < words.length - 1; i++) size /= base;
    return { by: base ** i, word: words[i] };
  };
  switch (unit.kind) {
    case 'bytes': {
      const s = step(1024, binary);
      return { by: s.by, word: ' ' + s.word + unit.suffix };
    }
    case 'percent': return { by: 1, word: ' %' };
    case 'seconds':
      if (size === 0 || size >= 1) {
        if (size >= 172800) return { by: 86400, word: ' d' };
        if (size >= 7200) return { by: 3600, word: ' h' };
        return { by: 1, word: ' s' };
      }
      if (size >= 1e-3) return { by: 1e-3, word: ' ms' };
      return size >= 1e-6 ? { by: 1e-6, word: ' µs' } : { by: 1e-9, word: ' ns' };
  }
  const s = step(1000, decimal);
  return { by: s.by, word: (s.word && ' ' + s.word) + unit.suffix };
}

// format is a value as text.
export function format(value, unit, scale = scaleFor(unit, value)) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  return digits(value / scale.by) + scale.word;
}

// digits is a number with about three significant digits, or all those before the point.
function digits(v) {
  const size = Math.abs(v);
  if (size >= 99.95 || Number.isInteger(v)) return v.toFixed(0);
  if (size >= 9.995) return v.toFixed(1);
  if (size >= 1) return v.toFixed(2);
  if (size >= 0.0995) return v.toFixed(2);
  return size === 0 ? '0' : size < 0.001 ? v.toExponential(1) : v.toFixed(3);
}

// duration is a number of seconds as text, in the largest unit of which there are two.
export function duration(seconds) {
  const [word, by] = [['days', 86400], ['hours', 3600], ['minutes', 60]].find(([, size]) => seconds >= 2 * size) ?? ['seconds', 1];
  return `${Number((seconds / by).toFixed(by < 3600 ? 0 : 1))} ${word}`;
}

// clock is a time of the day, with the date if it is not today's.
export function clock(t, long) {
  const d = new Date(t * 1000);
  const time = d.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  if (!long && d.toDateString() === new Date().toDateString()) return time;
  return d.toLocaleDateString([], { year: 'numeric', month: 'short', day: 'numeric' }) + ' ' + time;
}

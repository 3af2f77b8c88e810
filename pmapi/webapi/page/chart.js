// Chart draws series into a canvas.

import { scaleFor } from './units.js';

export const colours = 8;

const spacings = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

// ceiling is a round number that is at least v, and the distance of grid lines below it.
function ceiling(v) {
  const size = 10 ** Math.floor(Math.log10(v));
  for (const [m, lines] of [[1, 4], [2, 4], [3, 3], [4, 4], [5, 5], [6, 3], [8, 4], [10, 4]]) {
    if (m * size >= v * 0.999999) return [m * size, m * size / lines];
  }
  return [v, v];
}

// range is the range of values of the axis, with the distance of lines: quarters, or a power of two of what has a top that is not round.
export function range(drawn, data) {
  let low = 0, high = 0;
  for (const { points } of drawn) {
    for (const [, v] of points) {
      if (v > high) high = v;
      if (v < low) low = v;
    }
  }
  if (data.fixed && data.top) {
    const by = scaleFor(data.unit, data.top).by;
    const distance = data.unit.kind === 'bytes' ? 2 ** Math.ceil(Math.log2(data.top / by / 4)) * by : data.top / 4;
    return { low: 0, high: data.top, distance };
  }
  if (data.top !== undefined) high = Math.max(high, data.top);
  if (high === 0 && low === 0) high = 1;
  const by = scaleFor(data.unit, Math.max(high, -low)).by;
  if (high > 0) {
    const [top, distance] = ceiling(high / by);
    const bottom = low < 0 ? -Math.ceil(-low / by / distance) * distance : 0;
    return { low: bottom * by, high: top * by, distance: distance * by };
  }
  const [bottom, distance] = ceiling(-low / by);
  return { low: -bottom * by, high: 0, distance: distance * by };
}

// stack puts each series on the one before: points are [time, value, value below].
function stack(series) {
  const sums = new Map();
  return series.map(s => ({
    ...s,
    points: s.points.map(([t, v]) => {
      if (v === null) return [t, null];
      const below = sums.get(t) ?? 0;
      sums.set(t, below + v);
      return [t, below + v, below];
    }),
  }));
}

// axisLabel is a value at a line, with as many digits as tell the lines apart.
function axisLabel(v, distance, scale) {
  const places = Math.min(6, Math.max(0, -Math.floor(Math.log10(distance / scale.by) + 1e-9)));
  const exact = [0, 1, 2].map(n => places + n).find(n => Math.abs(Number((distance / scale.by).toFixed(n)) * scale.by - distance) < distance / 100) ?? places;
  return (v / scale.by).toFixed(exact) + scale.word;
}

// draw draws data {series, unit, stacked, top} of the time from..to, with a line at the time cursor unless it is null.
export function draw(canvas, data, from, to, cursor) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  const style = getComputedStyle(document.documentElement);
  const colour = name => style.getPropertyValue('--' + name).trim();
  g.font = '11px system-ui, sans-serif';
  const drawn = data.stacked ? stack(data.series) : data.series;
  const { low, high, distance } = range(drawn, data);
  const scale = scaleFor(data.unit, Math.max(high, -low));
  const labels = [];
  for (let v = low; v <= high + distance / 1e6; v += distance) labels.push([v, axisLabel(Math.abs(v) < distance / 1e6 ? 0 : v, distance, scale)]);
  const left = Math.ceil(Math.max(...labels.map(l => g.measureText(l[1]).width))) + 10;
  const plot = { left, top: 8, right: width - 6, bottom: height - 20 };
  const x = t => plot.left + (t - from) / (to - from) * (plot.right - plot.left);
  const y = v => plot.bottom - (v - low) / (high - low) * (plot.bottom - plot.top);

  g.textBaseline = 'middle';
  g.textAlign = 'right';
  g.lineWidth = 1;
  for (const [v, text] of labels) {
    const at = Math.round(y(v)) + 0.5;
    g.strokeStyle = colour(v === 0 ? 'line' : 'grid');
    g.beginPath();
    g.moveTo(plot.left, at);
    g.lineTo(plot.right, at);
    g.stroke();
    g.fillStyle = colour('faint');
    g.fillText(text, plot.left - 8, at);
  }
  drawTimes(g, plot, x, from, to, colour);
  g.save();
  g.beginPath();
  g.rect(plot.left, 0, plot.right - plot.left, plot.bottom + 1);
  g.clip();
  for (let i = drawn.length - 1; i >= 0; i--) {
    drawLine(g, drawn[i], x, y, colour('c' + drawn[i].colour), data.stacked || drawn.length === 1, y(Math.max(low, 0)), data.stacked ? 0.55 : 0.14);
  }
  g.restore();
  if (cursor !== null && cursor >= from && cursor <= to) {
    const at = Math.round(x(cursor)) + 0.5;
    g.strokeStyle = colour('faint');
    g.beginPath();
    g.moveTo(at, plot.top);
    g.lineTo(at, plot.bottom);
    g.stroke();
  }
  canvas.plot = { left: plot.left, right: plot.right }; // for timeAt
}

// drawTimes draws the axis of times, whose round times are those of the clock here.
function drawTimes(g, plot, x, from, to, colour) {
  const most = Math.max(2, Math.floor((plot.right - plot.left) / 85));
  const spacing = spacings.find(s => (to - from) / s <= most) ?? Math.ceil((to - from) / most);
  const zone = -new Date(to * 1000).getTimezoneOffset() * 60;
  g.fillStyle = colour('faint');
  g.textAlign = 'center';
  g.textBaseline = 'alphabetic';
  for (let t = Math.ceil((from + zone) / spacing) * spacing - zone; t <= to; t += spacing) {
    const d = new Date(t * 1000);
    const two = n => String(n).padStart(2, '0');
    let text = two(d.getHours()) + ':' + two(d.getMinutes());
    if (spacing < 60) text += ':' + two(d.getSeconds());
    if (spacing >= 86400) text = d.toLocaleDateString([], { month: 'short', day: 'numeric' });
    const half = g.measureText(text).width / 2;
    if (x(t) - half < plot.left - 8 || x(t) + half > plot.right + 6) continue;
    g.fillText(text, x(t), plot.bottom + 15);
  }
}

// drawLine draws a series, with or without the area below.
function drawLine(g, series, x, y, colour, filled, zero, opacity) {
  g.strokeStyle = g.fillStyle = colour;
  g.lineWidth = 1.75;
  g.lineJoin = 'round';
  let piece = [];
  const finish = () => {
    if (piece.length === 1) {
      g.beginPath();
      g.arc(piece[0][0], piece[0][1], 1.75, 0, 7);
      g.fill();
    } else if (piece.length > 1) {
      g.beginPath();
      for (const [px, py] of piece) g.lineTo(px, py);
      g.stroke();
      if (filled) {
        for (let i = piece.length - 1; i >= 0; i--) g.lineTo(piece[i][0], piece[i][2]);
        g.globalAlpha = opacity;
        g.fill();
        g.globalAlpha = 1;
      }
    }
    piece = [];
  };
  for (const [t, v, below] of series.points) {
    if (v === null) finish();
    else piece.push([x(t), y(v), below === undefined ? zero : y(below)]);
  }
  finish();
}

// timeAt is the time at a place of the screen.
export function timeAt(canvas, clientX, from, to) {
  if (!canvas.plot) return null;
  const { left, right } = canvas.plot;
  const at = (clientX - canvas.getBoundingClientRect().left - left) / (right - left);
  return from + Math.min(1, Math.max(0, at)) * (to - from);
}

// The view is what the page shows. The part of the address after # has it, so that a link restores it.

export const windows = [[60, '1 minute'], [300, '5 minutes'], [900, '15 minutes'], [1800, '30 minutes'], [3600, '1 hour'], [21600, '6 hours'], [86400, '1 day'], [604800, '1 week']];

const mostCharts = 40;

function positive(text, otherwise) {
  const v = Number(text);
  return v > 0 && v < 1e11 ? v : otherwise;
}

// readView reads the address: chart=NAME or chart=NAME|FILTER, as many as there are.
export function readView(hash) {
  const params = new URLSearchParams(hash.replace(/^#/, ''));
  return {
    source: params.get('source') ?? '',
    window: positive(params.get('window'), 300),
    at: positive(params.get('at'), null), // the end of what is shown, null for the latest
    interval: positive(params.get('interval'), 1),
    charts: params.getAll('chart').slice(0, mostCharts).map(text => {
      const [name, ...filter] = text.split('|');
      return { name, filter: filter.join('|') };
    }).filter((c, i, all) => /^[^\s,@]+$/.test(c.name) && all.findIndex(o => o.name === c.name) === i),
  };
}

// writeView is what readView reads.
export function writeView(view) {
  const params = new URLSearchParams();
  if (view.source) params.set('source', view.source);
  if (view.window !== 300) params.set('window', view.window);
  if (view.at !== null) params.set('at', view.at.toFixed(3));
  if (view.interval !== 1) params.set('interval', view.interval);
  for (const { name, filter } of view.charts) params.append('chart', filter ? `${name}|${filter}` : name);
  const text = params.toString();
  return text && '#' + text;
}

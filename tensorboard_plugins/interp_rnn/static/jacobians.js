// Percentiles of the singular values of the input-output Jacobian through training, of one run or several.

import {extent, html, lines, LINES, scale, shown, svg, together} from './charts.js';

export const title = 'Jacobians';
export const about = 'Singular values of the derivative of the last state with respect to the input some steps earlier, through training.';
export const example = `import keras
from keras_interp_rnn import callbacks, layers

# x: (sequences, time, features), more than 25 steps; y: 0 or 1
model = keras.Sequential([layers.MinimalRNN(32), keras.layers.Dense(1)])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(x, y, callbacks=[
    callbacks.JacobianHistograms("logs", x[:32], lags=(0, 10, 25)),
])`;

export async function draw(body, page) {
  const {state} = page;
  const all = page.runs.map((one) => one.run);
  const single = page.series.steps.length === 1;
  const over = new Set((state.over ?? []).filter((run) => all.includes(run)));
  const loaded = new Map([[state.run, page.series]]);
  const legend = html('p', {class: 'note'});
  const place = html('div', {class: 'side'});
  const histogram = html('figure');
  let key = [];
  state.logarithmic ??= true;

  async function show() {
    for (const run of over) {
      if (loaded.has(run)) continue;
      loaded.set(run, await page.seriesOfRun(run));
    }
    const step = state.step;
    const values = await page.slice(step);
    if (!page.current() || step !== state.step) return;
    const runs = [state.run, ...[...over].filter((run) => run !== state.run)];
    const lags = page.series.lags;
    const columns = Math.max(1, Math.min(lags.length, Math.floor(page.width() / 400)));
    const width = (page.width() - 24 * (columns - 1)) / columns;
    key = runs.length > 1 ? runs.map((run, r) => [run || '.', LINES[r % LINES.length]]) : [];
    legend.replaceChildren(...key.flatMap(([run, color]) => [html('span', {style: `color:${color}`}, '■ '), `${run}  `]));
    const range = extent(runs.flatMap((run) => loaded.get(run).percentiles.flat(2)).filter((value) => Number.isFinite(value) && (value > 0 || !state.logarithmic)));
    place.replaceChildren(...(single ? [byLag(page.series, state.logarithmic, page.width())] : lags.map((lag) => html('figure', {},
      html('figcaption', {}, `lag ${lag}`),
      lines(runs.flatMap((run, r) => percentiles(loaded.get(run), lag, run, LINES[r % LINES.length])), {
        x: 'training step', y: 'singular value', logarithmic: state.logarithmic, width, height: 280, range,
        at: state.step, label: `percentiles of the singular values at lag ${lag}`,
        onpick: (step) => page.go({step}),
      })))));
    histogram.replaceChildren(html('figcaption', {}, single ? 'Distributions' : `Distribution at step ${state.step}, run ${state.run || '.'}`),
      html('div', {class: 'side'}, ...lags.map((lag, i) => density(values.values.subarray(101 * i, 101 * (i + 1)), lag, state.logarithmic))));
    page.remember();
  }

  const log = html('label', {}, html('input', {type: 'checkbox', checked: state.logarithmic ? '' : null,
    onchange: (event) => { state.logarithmic = event.target.checked; show(); }}), ' logarithmic');
  const others = all.length > 1 ? html('fieldset', {}, html('legend', {}, 'Compare with'), ...all.filter((run) => run !== state.run).map((run) =>
    html('label', {}, html('input', {type: 'checkbox', checked: over.has(run) ? '' : null, onchange: (event) => {
      event.target.checked ? over.add(run) : over.delete(run);
      state.over = [...over];
      show();
    }}), ` ${run || '.'} `))) : null;
  body.replaceChildren(
    html('div', {class: 'controls'}, log, others),
    ...[page.slider(show)].filter(Boolean),
    html('p', {class: 'note'}, `Percentiles of the singular values: ${page.series.lines.join(', ')}%; the median is thick, minimum and maximum are dashed.${single ? '' : ' Click a step to see its distribution.'}`),
    legend, place, histogram,
    page.downloads(() => together([[...place.children], [histogram]].map((figures) => figures.flatMap(captioned)), page.width(), key), () => rows(loaded), 'jacobians'),
  );
  await show();
}

/** [caption, drawing] of each drawing of a figure; the first one has the figure's caption. */
function captioned(figure) {
  const caption = figure.querySelector('figcaption')?.textContent ?? '';
  return [...figure.querySelectorAll('svg')].map((drawing, i) => [i ? '' : caption, drawing]);
}

/** Of a single step: the percentiles against the lag. */
function byLag(series, logarithmic, width) {
  return html('figure', {class: 'wide'}, lines(series.lines.map((percent, line) => ({
    name: `${percent}%`, color: LINES[0], width: percent === 50 ? 3 : 1, dashed: percent === 0 || percent === 100,
    points: series.lags.map((lag, i) => [lag, series.percentiles[0][i][line]]).sort((a, b) => a[0] - b[0]),
  })), {x: 'lag', y: 'singular value', logarithmic, wholeX: true, width, height: 300, label: 'percentiles of the singular values by lag'}));
}

function percentiles(series, lag, run, color) {
  const i = series.lags.indexOf(lag);
  if (i < 0) return [];
  return series.lines.map((percent, line) => ({
    name: `${run}: ${percent}%`, color, width: percent === 50 ? 3 : 1, dashed: percent === 0 || percent === 100,
    points: series.steps.map((step, s) => [step, series.percentiles[s][i][line]]),
  }));
}

/** The density between neighbouring percentiles, as bars of equal mass. */
function density(values, lag, logarithmic) {
  const width = 300, height = 170, bottom = 34, top = 16;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': `distribution at lag ${lag}`});
  const usable = values.filter((value) => Number.isFinite(value) && (!logarithmic || value > 0));
  if (usable.length < 2) return root;
  const f = logarithmic ? Math.log10 : (value) => value;
  const low = f(usable[0]), high = f(usable[usable.length - 1]);
  const bins = Array(30).fill(0);
  for (let i = 1; i < usable.length; i++) {
    const [a, b] = [f(usable[i - 1]), f(usable[i])];
    for (let j = 0; j < bins.length; j++) {
      const left = low + ((high - low) * j) / bins.length, right = low + ((high - low) * (j + 1)) / bins.length;
      const inside = Math.max(0, Math.min(b, right) - Math.max(a, left));
      if (b > a) bins[j] += inside / (b - a);
      else if (a >= left && (a < right || j === bins.length - 1)) bins[j] += 1;
    }
  }
  const x = scale(0, bins.length, 10, width - 10);
  const y = scale(0, Math.max(...bins), height - bottom, top);
  bins.forEach((mass, j) => root.append(svg('rect', {x: x(j), y: y(mass), width: x(1) - x(0) - 1, height: height - bottom - y(mass), fill: LINES[0]},
    svg('title', {}, `${shown(mass)}% of the singular values`))));
  root.append(svg('text', {x: 10, y: height - 18}, shown(usable[0])),
    svg('text', {x: width - 10, y: height - 18, 'text-anchor': 'end'}, shown(usable[usable.length - 1])),
    svg('text', {x: width / 2, y: height - 4, 'text-anchor': 'middle'}, `singular value, lag ${lag}`));
  return root;
}

function rows(loaded) {
  const head = ['run', 'step', 'lag', ...[...loaded.values()][0].lines.map((percent) => `${percent}%`)];
  return [head, ...[...loaded].flatMap(([run, series]) => series.steps.flatMap((step, s) =>
    series.lags.map((lag, i) => [run, step, lag, ...series.percentiles[s][i]])))];
}

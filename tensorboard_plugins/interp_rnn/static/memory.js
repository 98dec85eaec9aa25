// How far back a network reaches: how much of an input some steps back is passed on, of every run in one chart.

import {lines, shown} from './charts.js';
import {colourOf, nearest} from './page.js';
import {h, patch} from './render.js';

export const title = 'Memory';
export const about = 'How far back does the network reach? How much of an input some steps earlier is passed on to the last state.';
export const several = true;
export const everywhere = true;
export const example = `import keras
from keras_interp_rnn import callbacks, layers

# x: (sequences, time, features), more than 25 steps; y: 0 or 1
model = keras.Sequential([layers.MinimalRNN(32), keras.layers.Dense(1)])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(x, y, callbacks=[
    callbacks.JacobianHistograms("logs", x[:32], lags=(0, 10, 25)),
])`;

const BAND = [16, 50, 84];
const BANDS = 4; // runs whose bands can be told apart; of more, the chosen one has its band

/** Of a step and a lag: 16 %, median, 84 % of the singular values. */
const bandOf = ({lines: known, percentiles}, s, l) => BAND.map((percent) => percentiles[s][l][known.indexOf(percent)]);

export async function draw(body, page) {
  const {state} = page;
  const all = (await Promise.all(page.everywhere().flatMap(({name, entries}) => entries.map(async (entry) =>
    ({name, entry, series: await page.read(entry), color: colourOf(name)}))))).filter(({series}) => series.steps.length);
  if (!all.length) throw new Error('no step of these tags can be read');
  state.logarithmic ??= true;
  const lags = [...new Set(all.flatMap(({series}) => series.lags))].sort((a, b) => a - b);
  const steps = [...new Set(all.flatMap(({series}) => series.steps))].sort((a, b) => a - b);
  if (!lags.includes(state.lag)) state.lag = lags[lags.length - 1];
  page.slider(paint, steps);
  const choose = (change) => {
    Object.assign(state, change);
    page.remember();
    paint();
  };
  const chosen = all.find(({name}) => name === page.run) ?? all[0];
  const thick = ({name}) => (name === chosen.name && all.length > 1 ? 3 : all.length > BANDS ? 1 : 1.75);
  const banded = ({name}, bands) => (all.length <= BANDS || name === chosen.name ? bands.map(([at, low, , high]) => [at, low, high]) : []);
  const form = () => (state.logarithmic ? 'logarithmic' : 'linear');

  function paint() {
    const width = page.width() >= 900 && steps.length > 1 ? (page.width() - 24) / 2 : page.width();
    const chart = (series, options) => lines(series, {width, height: 320, y: `passed on: singular values, median and 16 to 84%${all.length > BANDS ? ` of ${chosen.name}` : ''}`, form: form(), low: 0, ...options});
    const through = all.filter(({series}) => series.lags.includes(state.lag)).map((run) => {
      const bands = run.series.steps.map((step, s) => [step, ...bandOf(run.series, s, run.series.lags.indexOf(state.lag))]);
      return {name: run.name, color: run.color, width: thick(run), points: bands.map(([step, , median]) => [step, median]), band: banded(run, bands)};
    });
    const back = all.map((run) => {
      const s = run.series.steps.indexOf(nearest(run.series.steps, state.step));
      const bands = run.series.lags.map((lag, l) => [lag, ...bandOf(run.series, s, l)]).sort((a, b) => a[0] - b[0]);
      return {name: run.name, color: run.color, width: thick(run), points: bands.map(([lag, , median]) => [lag, median]), band: banded(run, bands)};
    });
    patch(body,
      h('h2', {class: 'headline', key: 'headline', 'aria-live': 'polite'}, sentenceOf(page.title ? chosen.name : 'The network', chosen.series, state.step, state.lag)),
      h('p', {class: 'note', key: 'note'}, 'A singular value of the derivative of the last state by the input so many steps before: by how much a small change there is passed on. 1 keeps it, 0 forgets it.'),
      h('div', {class: 'controls', key: 'controls'},
        lags.length > 1 && steps.length > 1 ? h('label', {}, 'Steps back ', h('select', {value: String(state.lag), onchange: (event) => choose({lag: Number(event.target.value)})}, lags.map((lag) => h('option', {key: lag, value: String(lag)}, lag)))) : null,
        h('label', {}, h('input', {type: 'checkbox', checked: state.logarithmic, onchange: (event) => choose({logarithmic: event.target.checked})}), ' logarithmic'),
        all.length > 1 && all.length <= BANDS ? all.map(({name, color}) => h('span', {key: name, class: 'legend'}, h('span', {class: 'key', style: `background: ${color}`}), name)) : null),
      h('div', {class: width < page.width() ? 'two' : '', key: 'charts'},
        h('figure', {key: 'back'}, h('figcaption', {}, `How far back${steps.length > 1 ? `, at step ${state.step}` : ''}`),
          chart(back, {x: 'steps back', wholeX: true, label: `what is passed on by the steps back${steps.length > 1 ? `, at step ${state.step}` : ''}`})),
        steps.length > 1 ? h('figure', {key: 'through'}, h('figcaption', {}, `${state.lag} steps back, through training`),
          chart(through, {x: 'training step', at: state.step, label: `what is passed on from ${state.lag} steps back, through training`, onpick: (step) => page.go({step})})) : null),
      h('div', {key: 'downloads'}, page.downloads(() => [...body.querySelectorAll('figure svg')], () => rows(all), {file: `memory ${page.title}`})));
  }

  paint();
}

/** How much of an input is passed on, at a lag or at the longest one, and how that changed. */
function sentenceOf(name, series, step, lag = null) {
  const l = series.lags.indexOf(series.lags.includes(lag) ? lag : Math.max(...series.lags));
  const at = (s) => bandOf(series, s, l)[1];
  const s = series.steps.indexOf(nearest(series.steps, step));
  const now = at(s), before = at(0);
  const times = s > 0 && before > 0 && now > 0 ? now / before : null;
  const change = times === null ? '' : times >= 1.05 ? `, ${shown(Number(times.toPrecision(2)))} times as much as at the start of training` : times <= 0.95 ? `, ${shown(Number((1 / times).toPrecision(2)))} times less than at the start of training` : ', as at the start of training';
  return [name, ' passes on ', h('b', {}, now === null ? 'too much for a number' : now < 1 ? `${shown(Number((100 * now).toPrecision(2)))}%` : `${shown(Number(now.toPrecision(2)))} times`), ` ${now < 1 ? 'of ' : ''}a change ${series.lags[l]} steps back${change}.`];
}

export async function card(page) {
  const series = await page.read(page.entries[0]);
  if (!series.steps.length) return null;
  const l = series.lags.indexOf(Math.max(...series.lags));
  const bands = series.steps.map((step, s) => [step, ...bandOf(series, s, l)]);
  return {
    short: `${shown(bands[bands.length - 1][2])} after ${series.lags[l]} steps`,
    sentence: sentenceOf(page.title || 'The network', series, null),
    drawing: series.steps.length < 2 ? null : (width) => lines([{name: page.run, color: colourOf(page.run), width: 2, points: bands.map(([step, , median]) => [step, median]), band: bands.map(([step, low, , high]) => [step, low, high])}],
      {width: Math.min(width, 560), height: 170, form: 'logarithmic', x: 'training step', y: `passed on from ${series.lags[l]} steps back`, label: `what ${page.run} passes on, through training`}),
  };
}

function rows(all) {
  return [['run', 'step', 'lag', ...all[0].series.lines.map((percent) => `${percent}%`)],
    ...all.flatMap(({name, series}) => series.steps.flatMap((step, s) => series.lags.map((lag, l) => [name, step, lag, ...series.percentiles[s][l]])))];
}

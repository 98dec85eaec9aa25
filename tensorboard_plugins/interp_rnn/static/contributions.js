// What every symbol of a text contributes to every prediction of an ISAN, and the prediction without some of them.

import {html, raster, rasterImage, remembering, signed, share, shown, svg} from './charts.js';

export const title = 'Contributions';
export const about = 'Every logit of an input-switched affine network, split exactly among the symbols it has read.';
export const example = `import keras
from keras_interp_rnn import callbacks, datasets, layers

model = keras.Sequential([
    keras.Input((50,), batch_size=16, dtype="int32"),
    layers.ISAN(32, 27, return_sequences=True, stateful=True),
    keras.layers.Dense(27),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
text = datasets.text.python_documentation()
watched = [datasets.text.encode("the return value")]
model.fit(datasets.Windows(text, 16, length=50), shuffle=False, callbacks=[
    callbacks.Contributions("logs", watched, alphabet=datasets.text.ALPHABET),
])`;

const BARS = 50;
const CONTEXT = 60;

export async function draw(body, page) {
  const {series, state} = page;
  const {symbols, outputs} = series;
  const steps = symbols.length;
  state.index = Math.min(Math.max(1, state.index ?? steps), steps);
  const off = new Set(state.off ?? []);
  let words = state.words ?? false;
  const overview = html('figure', {style: 'overflow-x: auto'});
  const text = html('p', {class: 'text', 'aria-label': 'the text; click a symbol to leave it out'});
  const column = html('figure');
  const prediction = html('p');
  let slice = null;

  const slices = remembering(page.slice, 16);
  const sources = ['h₀', ...symbols];
  const starts = wordStarts(symbols);

  async function show() {
    const [step, target] = [state.step, state.index];
    const [whole, one] = await Promise.all([slices(step, 0), slices(step, target)]);
    if (!page.current() || step !== state.step || target !== state.index) return;
    slice = one;
    overview.replaceChildren(html('figcaption', {}, 'Norm of each contribution in nats. Rows are sources, columns are targets. Click a column to select it.'),
      stack(whole, sources, symbols, state.index, page.dark(), (target) => { state.index = target; show(); }, strongestOutputs));
    paint();
    page.remember();
    const at = series.steps.indexOf(step);
    for (const near of [at - 1, at + 1].filter((i) => i in series.steps)) {
      slices(series.steps[near], 0);
      slices(series.steps[near], target);
    }
  }

  function paint() {
    const target = state.index;
    const K = outputs.length;
    const value = (source, output) => slice.values[source * K + output];
    const bias = (output) => slice.values[(target + 1) * K + output];
    const logits = (kept) => outputs.map((_, o) => {
      let sum = bias(o);
      for (let s = 0; s <= target; s++) if (kept(s)) sum += value(s, o);
      return sum;
    });
    const full = softmax(logits(() => true));
    const now = softmax(logits((s) => !off.has(s)));
    const [winner, runner] = best(full);
    const groups = words ? grouped(starts, target) : [...Array(target + 1).keys()].map((s) => [s]);
    const sum = (group, output) => group.reduce((total, s) => total + value(s, output), 0);
    const name = (group) => group.map((s) => sources[s]).join('');
    const leads = groups.map((group) => sum(group, winner) - sum(group, runner));
    const limit = Math.max(...leads.map(Math.abs), 1e-9);
    text.replaceChildren(...symbols.map((symbol, i) => {
      const s = i + 1;
      const group = groups.find((one) => one.includes(s));
      const lead = group ? leads[groups.indexOf(group)] : 0;
      const toggle = () => {
        const members = group ?? [s];
        const on = members.every((one) => off.has(one));
        for (const member of members) on ? off.delete(member) : off.add(member);
        state.off = [...off];
        paint();
        page.remember();
      };
      return html('span', {
        class: `${off.has(s) ? 'off' : ''}${s === target ? ' at' : ''}`, tabindex: 0, role: 'button',
        'aria-pressed': String(!off.has(s)), style: s <= target ? `background:${signed(lead * 0.8, limit, page.dark())}` : 'opacity:0.4',
        title: s <= target ? `${shown(lead)} nats for ${outputs[winner]} over ${outputs[runner]}` : 'not read yet',
        onclick: toggle, onkeydown: (event) => {
          if (!['Enter', ' '].includes(event.key)) return;
          event.preventDefault();
          toggle();
          text.children[i].focus();
        },
      }, symbol);
    }));
    const [first, second] = best(now);
    prediction.replaceChildren(
      `After ${target > CONTEXT ? '…' : ''}${symbols.slice(Math.max(0, target - CONTEXT), target).join('')}: `, html('b', {}, `${outputs[winner]} ${(100 * full[winner]).toFixed(1)} %`),
      `, then ${outputs[runner]} ${(100 * full[runner]).toFixed(1)} %. `,
      off.size ? html('span', {class: 'now'}, `Without the symbols left out: ${outputs[first]} ${(100 * now[first]).toFixed(1)} %, then ${outputs[second]} ${(100 * now[second]).toFixed(1)} %.`) : '',
    );
    column.replaceChildren(html('figcaption', {}, `Contributions to ${outputs[winner]} (blue) and ${outputs[runner]} (orange), nats`),
      bars([...strongest(groups.map((group) => ({name: name(group), off: group.every((s) => off.has(s)),
        values: [sum(group, winner), sum(group, runner)]}))), {name: 'bias', off: false, values: [bias(winner), bias(runner)]}]));
  }

  /** The outputs to which a source contributes most, at the selected target. */
  function strongestOutputs(source) {
    const K = outputs.length;
    const values = [...slice.values.subarray(source * K, (source + 1) * K).entries()].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    return values.slice(0, 5).map(([o, value]) => `${outputs[o]} ${value > 0 ? '+' : ''}${shown(value)}`).join(', ');
  }

  const byWord = html('button', {type: 'button', 'aria-pressed': String(words), onclick: () => {
    words = !words;
    state.words = words;
    byWord.setAttribute('aria-pressed', String(words));
    byWord.textContent = words ? 'By symbols' : 'By words';
    paint();
    page.remember();
  }}, words ? 'By symbols' : 'By words');
  const all = html('button', {type: 'button', onclick: () => { off.clear(); state.off = []; paint(); page.remember(); }}, 'Reset');
  body.replaceChildren(
    page.slider(show), html('div', {class: 'row'}, byWord, all),
    html('p', {class: 'note'}, 'Click a symbol to leave its contribution out. The sum is exact, so the prediction below is the network’s without it.'),
    text, prediction, html('div', {class: 'side'}, overview, column),
    page.downloads(() => overview.querySelector('svg'), () => rows(slice, sources, outputs, state), 'contributions'),
  );
  await show();
}

/** Norms of all terms. */
function stack(whole, sources, symbols, target, dark, onpick, detail) {
  const steps = symbols.length;
  const cell = Math.max(2, Math.min(18, Math.floor(900 / steps)));
  const left = 40, top = 6, foot = 30;
  const width = left + steps * cell + 8, height = top + (steps + 1) * cell + foot;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', style: 'max-width: none',
    'aria-label': `norms of the contributions of ${steps + 1} sources to ${steps} targets`});
  const limit = whole.values.subarray(0, (steps + 1) * steps).reduce((most, value) => Math.max(most, value), 1e-9);
  const shades = Float32Array.from(whole.values.subarray(0, (steps + 1) * steps), (value) => Math.sqrt(value / limit));
  const image = rasterImage({x: left, y: top, width: steps * cell, height: (steps + 1) * cell});
  image.setAttribute('href', raster(shades, steps + 1, steps, (value) => share(value, dark)));
  root.append(image);
  const every = Math.max(1, Math.ceil(14 / cell));
  sources.forEach((name, s) => s % every === 0 && root.append(svg('text', {x: left - 6, y: top + s * cell + cell / 2 + 4, 'text-anchor': 'end'}, name)));
  symbols.forEach((name, t) => t % every === 0 && root.append(svg('text', {x: left + t * cell + cell / 2, y: height - foot + 16, 'text-anchor': 'middle'}, name)));
  const frame = svg('rect', {x: left + (target - 1) * cell, y: top, width: cell, height: (steps + 1) * cell, fill: 'none', class: 'chosen'});
  const tip = svg('title', {}, '');
  const place = (event) => {
    const box = root.getBoundingClientRect();
    const column = Math.floor((((event.clientX - box.left) / box.width) * width - left) / cell);
    const row = Math.floor((((event.clientY - box.top) / box.height) * height - top) / cell);
    return [Math.max(0, Math.min(steps - 1, column)), Math.max(0, Math.min(steps, row))];
  };
  root.append(frame, svg('rect', {x: left, y: top, width: steps * cell, height: (steps + 1) * cell, fill: 'transparent', class: 'pick',
    onclick: (event) => onpick(place(event)[0] + 1),
    onmousemove: (event) => {
      const [t, s] = place(event);
      tip.textContent = s > t + 1 ? `${sources[s]} is read later` : `${sources[s]} → after ${symbols[t]} (${t + 1}): norm ${shown(whole.values[s * steps + t])} nats${t + 1 === target ? `: ${detail(s)}` : ''}`;
    }}, tip));
  return root;
}

/** Of many rows, those in which the two outputs differ most, in order, and the sum of the others. */
function strongest(rows) {
  if (rows.length <= BARS) return rows;
  const apart = (row) => Math.abs(row.values[0] - row.values[1]);
  const kept = new Set([...rows].sort((a, b) => apart(b) - apart(a)).slice(0, BARS - 1));
  const others = rows.filter((row) => !kept.has(row));
  const total = (i) => others.reduce((sum, row) => sum + row.values[i], 0);
  return [{name: `${others.length} others`, off: false, values: [total(0), total(1)]}, ...rows.filter((row) => kept.has(row))];
}

function bars(rows) {
  const height = Math.max(11, Math.min(22, 620 / rows.length));
  const limit = Math.max(...rows.flatMap((row) => row.values.map(Math.abs)), 1e-9);
  const left = 90, width = 440, middle = left + (width - left) / 2;
  const reach = (width - left) / 2 - 6;
  const root = svg('svg', {viewBox: `0 0 ${width} ${rows.length * height + 24}`, width, height: rows.length * height + 24,
    role: 'img', 'aria-label': 'contributions to the two most probable outputs'});
  rows.forEach((row, i) => {
    const y = i * height;
    const group = svg('g', {class: row.off ? 'gone' : ''}, svg('title', {}, `${row.name}: ${shown(row.values[0])} and ${shown(row.values[1])} nats`),
      svg('text', {x: left - 6, y: y + height / 2 + 4, 'text-anchor': 'end'}, row.name.length > 12 ? `…${row.name.slice(-11)}` : row.name));
    row.values.forEach((value, j) => group.append(svg('rect', {
      x: value < 0 ? middle + (value / limit) * reach : middle, y: y + 1 + (j * (height - 2)) / 2,
      width: (Math.abs(value) / limit) * reach, height: (height - 2) / 2, fill: j ? '#e69f00' : '#0072b2',
    })));
    root.append(group);
  });
  root.append(svg('line', {x1: middle, x2: middle, y1: 0, y2: rows.length * height, class: 'grid'}),
    svg('text', {x: left, y: rows.length * height + 18}, `−${shown(limit)}`),
    svg('text', {x: width - 6, y: rows.length * height + 18, 'text-anchor': 'end'}, `${shown(limit)} nats`));
  return root;
}

/** First symbol, from 1, of each word: a word begins at white space. */
function wordStarts(symbols) {
  const spaces = symbols.map((symbol, i) => [symbol, i + 1]).filter(([symbol]) => ['␣', '⏎', '⇥'].includes(symbol)).map(([, s]) => s);
  return [...new Set([0, 1, ...spaces])].sort((a, b) => a - b);
}

function grouped(starts, target) {
  const ends = [...starts.slice(1), Infinity];
  return starts.filter((start) => start <= target)
    .map((start, i) => [...Array(Math.min(ends[i] - 1, target) - start + 1).keys()].map((offset) => start + offset));
}

function softmax(logits) {
  const largest = Math.max(...logits);
  const scaled = logits.map((value) => Math.exp(value - largest));
  const total = scaled.reduce((sum, value) => sum + value, 0);
  return scaled.map((value) => value / total);
}

function best(probabilities) {
  const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
  return [order[0], order[1] ?? order[0]];
}

function rows(slice, sources, outputs, state) {
  const K = outputs.length;
  const table = [['step', 'target', 'source', 'symbol', ...outputs]];
  for (let s = 0; s <= state.index + 1; s++) {
    const name = s === state.index + 1 ? ['', 'bias'] : [s, sources[s]];
    table.push([state.step, state.index, ...name, ...slice.values.slice(s * K, (s + 1) * K)]);
  }
  return table;
}

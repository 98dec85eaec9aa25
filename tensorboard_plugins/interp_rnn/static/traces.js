// Gates, states and whatever else a recurrent layer computes, token by token: maps of all units, lines of one.

import {colourBar, cut, html, lines, LINES, raster, rasterImage, remembering, share, shown, signed, svg} from './charts.js';
import {shadedText} from './shares.js';

export const title = 'Traces';
export const about = 'Everything a recurrent layer computes while it reads a few sequences: gates, states, candidates, of every unit at every token.';
export const example = `import keras
from keras_interp_rnn import callbacks

# x: texts as ids of words, 0 is padding; y: 0 or 1; words: a name for each id
model = keras.Sequential([
    keras.layers.Embedding(len(words), 16, mask_zero=True),
    keras.layers.GRU(24),
    keras.layers.Dense(1),
])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(x, y, callbacks=[
    callbacks.Traces("logs", x[:4], tokens=words),
])`;

export async function draw(body, page) {
  const {series, state} = page;
  const {quantities} = series;
  const first = quantities.reduce((all, [, entries]) => [...all, all[all.length - 1] + entries], [0]);
  const most = Math.max(...quantities.map(([, entries]) => entries));
  // The quantity that shades the text: the state.
  const main = Math.max(0, quantities.findIndex(([name]) => name.split('/').pop() === 'h'));
  state.index = Math.max(0, state.index ?? 0);
  state.unit = Math.min(Math.max(0, state.unit ?? 0), most - 1);
  const slices = remembering(page.slice, 32);
  const text = html('p', {class: 'text', 'aria-label': 'the sequence, shaded by the state of the unit'});
  const legend = html('p', {class: 'note', 'aria-live': 'polite'});
  const chart = html('figure', {class: 'wide'});
  const maps = html('div', {class: 'maps'});
  let slice = null;
  let read = [];

  async function show() {
    const [step, index] = [state.step, state.index];
    const answer = await slices(step, index);
    if (!page.current() || step !== state.step || index !== state.index) return;
    slice = answer;
    const [time, entries] = slice.shape;
    read = [...Array(time).keys()].filter((t) => !quantities.every((_, q) => Number.isNaN(slice.values[t * entries + first[q]])));
    paint();
    page.remember();
  }

  function paint() {
    const [, entries] = slice.shape;
    const value = (q, unit, t) => slice.values[t * entries + first[q] + unit];
    const names = read.map((t) => series.tokens[state.index]?.[t] ?? String(t));
    const unit = state.unit;
    const shading = unit < quantities[main][1] ? main : quantities.findIndex(([, count]) => unit < count);
    shadedText(text, names, (i) => {
      const number = value(shading, unit, read[i]);
      return {value: Number.isNaN(number) ? null : number, says: `${quantities[shading][0]} of unit ${unit}: ${shown(number)}`};
    }, {dark: page.dark()});
    legend.textContent = `The text is shaded by ${quantities[shading][0]} of unit ${unit}: blue above 0, red below. Click a row of a map for another unit.`;
    const drawn = quantities.map(([name, count], q) => ({name, count, q})).filter(({count}) => unit < count && count === quantities[main][1]);
    const colours = (i) => ({color: LINES[i % LINES.length], dashed: i >= LINES.length});
    chart.replaceChildren(
      html('figcaption', {}, `Unit ${unit}: `, ...drawn.flatMap(({name}, i) => [html('span', {style: 'white-space: nowrap'}, key(colours(i)), name), '  '])),
      lines(drawn.map(({name, q}, i) => ({name, ...colours(i), points: read.map((t, place) => [place, value(q, unit, t)])})), {
        x: 'token', y: 'value', names, width: Math.max(280, page.width()), height: 240, label: `gates and states of unit ${unit} over the tokens`,
      }));
    const columns = Math.max(1, Math.min(quantities.length, Math.floor(page.width() / Math.max(300, 60 + 9 * read.length))));
    const width = (page.width() - 24 * (columns - 1)) / columns;
    maps.replaceChildren(...quantities.map(([name, count], q) => map(name, count, q, names, value, width)));
  }

  function map(name, count, q, names, value, available) {
    const left = 40;
    const wide = Math.max(4, Math.min(44, (available - left - 4) / Math.max(1, names.length)));
    const high = Math.max(4, Math.min(22, 340 / count));
    const foot = 16;
    const [width, height] = [left + names.length * wide + 4, count * high + foot];
    const cells = new Float32Array(count * names.length);
    for (let i = 0; i < count; i++) read.forEach((t, column) => { cells[i * names.length + column] = value(q, i, t); });
    const known = cells.filter((number) => !Number.isNaN(number));
    const [low, top] = [known.reduce((a, b) => Math.min(a, b), 0), known.reduce((a, b) => Math.max(a, b), 0)];
    const limit = Math.max(-low, top) || 1;
    const whole = name.endsWith('centroid');
    const gate = low >= 0;
    const colour = gate ? (part) => share(part, page.dark()) : (part) => signed(2 * part - 1, 1, page.dark());
    const image = rasterImage({x: left, y: 0, width: names.length * wide, height: count * high});
    if (!whole) image.setAttribute('href', raster(cells.map((number) => (gate ? number / limit : 0.5 + number / (2 * limit))), count, names.length, colour));
    const above = 6; // the first label is higher than a low row
    const root = svg('svg', {viewBox: `0 ${-above} ${width} ${height + above}`, width, height: height + above, role: 'img', style: 'max-width: none',
      'aria-label': `${name}: ${count} ${count === 1 ? 'entry' : 'entries'} at ${names.length} tokens, from ${shown(low)} to ${shown(top)}`});
    const every = Math.max(1, Math.ceil(13 / high));
    for (let i = 0; i < count; i += every) root.append(svg('text', {x: left - 8, y: (i + 0.5) * high + 4, 'text-anchor': 'end'}, String(i)));
    const tip = svg('title', {}, '');
    const place = (event) => {
      const box = root.getBoundingClientRect();
      const column = Math.floor((((event.clientX - box.left) / box.width) * width - left) / wide);
      const row = Math.floor((((event.clientY - box.top) / box.height) * (height + above) - above) / high);
      return [Math.max(0, Math.min(names.length - 1, column)), Math.max(0, Math.min(count - 1, row))];
    };
    root.append(image, svg('rect', {x: left, y: 0.5, width: names.length * wide, height: count * high, class: 'frame'}));
    if (whole) names.forEach((_, column) => root.append(svg('text', {x: left + (column + 0.5) * wide, y: high / 2 + 4, 'text-anchor': 'middle'}, shown(cells[column]))));
    if (state.unit < count) root.append(svg('rect', {x: left - 2, y: state.unit * high, width: names.length * wide + 3, height: high, fill: 'none', class: 'chosen'}));
    let end = -Infinity;
    names.forEach((token, column) => {
      const at = left + (column + 0.5) * wide;
      const shownName = cut(token, 8);
      const half = 3.6 * shownName.length;
      if (at - half < end || at + half > width + 6) return;
      end = at + half + 3;
      root.append(svg('text', {x: at, y: height - 3, 'text-anchor': 'middle'}, shownName));
    });
    root.append(svg('rect', {x: left, y: 0, width: names.length * wide, height: count * high, fill: 'transparent', class: 'pick',
      onclick: (event) => choose(place(event)[1]),
      onmousemove: (event) => {
        const [column, i] = place(event);
        tip.textContent = `${name}, unit ${i}, after “${names[column]}”: ${shown(value(q, i, read[column]))}`;
      }}, tip));
    return html('figure', {}, html('figcaption', {}, html('b', {}, name)), html('div', {class: 'scroll'}, root),
      whole ? null : gate ? colourBar('0', shown(limit), colour) : colourBar(`−${shown(limit)}`, shown(limit), colour));
  }

  function choose(unit) {
    state.unit = unit;
    number.value = String(unit);
    page.remember();
    paint();
  }

  const number = html('input', {type: 'number', min: 0, max: most - 1, 'aria-label': 'unit', value: state.unit, onchange: () => {
    choose(Math.min(most - 1, Math.max(0, Math.round(Number(number.value)) || 0)));
  }});
  const sequences = series.tokens.length || series.shapes?.[series.shapes.length - 1][0] || 1;
  state.index = Math.min(state.index, sequences - 1);
  const names = [...Array(sequences).keys()].map((i) => `${i}: ${cut((series.tokens[i] ?? []).slice(0, 12).join(' '), 40)}`);
  const select = html('select', {onchange: () => { state.index = Number(select.value); show(); }},
    ...names.map((name, i) => html('option', {value: i, selected: i === state.index ? '' : null}, name)));
  body.replaceChildren(
    html('div', {class: 'controls'}, sequences > 1 ? html('label', {}, 'Sequence ', select) : null, html('label', {}, 'Unit ', number)),
    ...[page.slider(show)].filter(Boolean), text, legend, chart, maps,
    page.downloads(() => chart.querySelector(':scope > svg'), () => rows(slice, series, state, read, first), 'traces'),
  );
  await show();
}

/** The line of a legend. */
function key({color, dashed}) {
  return svg('svg', {width: 24, height: 10, viewBox: '0 0 24 10', 'aria-hidden': 'true'},
    svg('path', {d: 'M1 5H23', stroke: color, 'stroke-width': 2.5, 'stroke-dasharray': dashed ? '5 3' : null}));
}

function rows({values, shape: [, entries]}, {quantities, tokens}, state, read, first) {
  const head = ['step', 'sequence', 'position', 'token', 'quantity', 'unit', 'value'];
  return [head, ...read.flatMap((t) => quantities.flatMap(([name, count], q) => [...Array(count).keys()].map((unit) => [
    state.step, state.index, t, tokens[state.index]?.[t] ?? '', name, unit, values[t * entries + first[q] + unit],
  ])))];
}

// Exact Shapley values of the symbols of a text: what knowing each changes in the outputs, against a background.

import {colourBar, html, shown, signed, svg} from './charts.js';
import {bars, best, number, says, shadedText, softmax, strongest} from './shares.js';
import {logging} from './texts.js';

export const title = 'Shapley values';
export const about = 'What knowing each symbol of a text changes in the outputs of an input-switched affine network, averaged over what else is known.';
export const example = logging('ShapleyValues');

export async function draw(body, page) {
  const {series, state} = page;
  const {symbols, outputs} = series;
  const K = outputs.length;
  const text = html('p', {class: 'text', 'aria-label': 'the text, shaded by the Shapley values'});
  const prediction = html('p', {class: 'says', 'aria-live': 'polite'});
  const legend = html('p', {class: 'note'});
  const column = html('figure');
  const map = html('figure', {class: 'wide'});
  let values = null;

  async function show() {
    const step = state.step;
    const slice = await page.slice(step, 0);
    if (!page.current() || step !== state.step) return;
    values = slice.values;
    const value = (i, output) => values[i * K + output];
    const full = outputs.map((_, o) => [...Array(symbols.length + 1).keys()].reduce((sum, i) => sum + value(i, o), 0));
    const mean = outputs.map((_, o) => value(symbols.length, o));
    const [winner, runner] = best(softmax(full));
    const pair = K === 1 ? [winner] : [winner, runner];
    const lead = (i) => value(i, winner) - (K === 1 ? 0 : value(i, runner));
    const against = `${outputs[winner]}${K === 1 ? '' : ` over ${outputs[runner]}`}`;
    shadedText(text, symbols, (i) => ({value: lead(i), says: `${number(lead(i))} for ${against}`}), {dark: page.dark()});
    const [first, then] = says(full, outputs);
    const [unknown, unknownThen] = says(mean, outputs);
    prediction.replaceChildren('The whole text: ', html('b', {}, first), `${then}. From the mean logits of the background: ${unknown}${unknownThen}.`);
    legend.textContent = `Blue symbols speak for ${outputs[winner]}, red ones ${K === 1 ? 'against it' : `for ${outputs[runner]}`}.`;
    const width = page.width() >= 900 ? (page.width() - 24) / 2 : page.width();
    const rows = symbols.map((name, i) => ({name, off: false, values: pair.map((output) => value(i, output))}));
    column.replaceChildren(
      html('figcaption', {}, 'Shapley values for ', ...pair.flatMap((output, j) => [j ? ' and ' : '', html('b', {class: j ? 'second' : 'first'}, '■ '), outputs[output]]), '; below, the mean over the background'),
      bars([...strongest(rows), {name: 'mean', off: false, values: pair.map((output) => mean[output])}], {width: Math.min(width, 760), unit: ''}));
    const limit = values.subarray(0, symbols.length * K).reduce((most, one) => Math.max(most, Math.abs(one)), 1e-9);
    map.replaceChildren(html('figcaption', {}, 'Every symbol (column) and every output (row)'),
      html('div', {class: 'scroll'}, grid(symbols, outputs, value, limit, page.dark(), width)),
      colourBar(`−${shown(limit)}`, shown(limit), (part) => signed(part, 1, page.dark()), -1, 1));
    page.remember();
  }

  body.replaceChildren(
    ...[page.slider(show)].filter(Boolean), text, legend, prediction, html('div', {class: page.width() >= 900 ? 'two' : 'side'}, column, map),
    page.downloads(() => column.querySelector('svg'), () => table(symbols, outputs, values, state), 'shapley-values'),
  );
  await show();
}

function grid(symbols, outputs, value, limit, dark, available) {
  const cell = Math.max(13, Math.min(22, Math.floor((available - 60) / symbols.length)));
  const left = 52, foot = 22;
  const width = left + symbols.length * cell + 4, height = outputs.length * cell + foot;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', style: 'max-width: none',
    'aria-label': `Shapley values of ${symbols.length} symbols for ${outputs.length} outputs`});
  outputs.forEach((name, o) => {
    root.append(svg('text', {x: left - 6, y: o * cell + cell / 2 + 4, 'text-anchor': 'end'}, name.length > 6 ? `${name.slice(0, 5)}…` : name));
    symbols.forEach((symbol, i) => root.append(svg('rect', {x: left + i * cell, y: o * cell, width: cell - 1, height: cell - 1, fill: signed(value(i, o), limit, dark)},
      svg('title', {}, `${symbol} (${i + 1}) for ${name}: ${number(value(i, o))}`))));
  });
  symbols.forEach((symbol, i) => root.append(svg('text', {x: left + i * cell + cell / 2, y: height - 6, 'text-anchor': 'middle'}, symbol.length > 2 ? `${symbol[0]}…` : symbol)));
  return root;
}

function table(symbols, outputs, values, state) {
  const K = outputs.length;
  const names = [...symbols.map((symbol, i) => [i + 1, symbol]), ['', 'mean']];
  return [['step', 'position', 'symbol', ...outputs], ...names.map((name, i) => [state.step, ...name, ...values.slice(i * K, (i + 1) * K)])];
}

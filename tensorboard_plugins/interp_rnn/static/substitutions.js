// What the network would say if one symbol of a text were another.

import {colourBar, cut, html, shown, signed, svg} from './charts.js';
import {best, blank, number, says, shadedText, softmax} from './shares.js';
import {logging} from './texts.js';

export const title = 'What if';
export const about = 'What a network says of a text in which one symbol is replaced, for every position and every alternative.';
export const example = logging('Substitutions');

export async function draw(body, page) {
  const {series, state} = page;
  const {symbols, alternatives, outputs} = series;
  const K = outputs.length;
  const text = html('p', {class: 'text', 'aria-label': 'the text; click a symbol to replace it'});
  const prediction = html('p', {class: 'says', 'aria-live': 'polite'});
  const legend = html('p', {class: 'note'});
  const map = html('figure', {class: 'wide'});
  const list = html('figure');
  let values = null;
  state.index = Math.min(Math.max(0, state.index ?? symbols.length - 1), symbols.length - 1);

  const row = (i) => values.subarray(i * K, (i + 1) * K);
  const of = (position, other) => row(1 + position * alternatives.length + other);

  async function show() {
    const step = state.step;
    const slice = await page.slice(step, 0);
    if (!page.current() || step !== state.step) return;
    values = slice.values;
    paint();
    page.remember();
  }

  function paint() {
    const position = state.index;
    const original = row(0);
    const [winner] = K === 1 ? [0] : best(softmax(original));
    const measure = (logits) => (K === 1 ? logits[0] : softmax([...logits])[winner]);
    const usual = measure(original);
    const change = (i, other) => measure(of(i, other)) - usual;
    const strongest = (i) => alternatives.map((_, other) => change(i, other)).reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
    const what = K === 1 ? 'the output' : `the probability of ${outputs[winner]}`;
    const shownChange = (value) => (K === 1 ? number(value) : `${value < 0 ? '−' : '+'}${Math.abs(100 * value).toFixed(1)} points`);
    shadedText(text, symbols, (i) => ({
      value: strongest(i), at: i === position, says: `another symbol here changes ${what} by up to ${shownChange(strongest(i))}`,
    }), {dark: page.dark(), ontoggle: (i) => { state.index = i; paint(); page.remember(); }});
    const order = [...alternatives.keys()].sort((a, b) => change(position, a) - change(position, b));
    const other = Number.isInteger(state.token) && state.token < alternatives.length ? state.token : order[0];
    select.replaceChildren(...alternatives.map((name, i) => html('option', {value: i, selected: i === other ? '' : null}, name)));
    select.value = String(other);
    const [first, then] = says([...original], outputs);
    const [now, nowThen] = says([...of(position, other)], outputs);
    const context = (name) => [...symbols.slice(Math.max(0, position - 30), position), html('mark', {}, name), ...symbols.slice(position + 1, position + 31)]
      .flatMap((part, i) => (i ? [blank(symbols), part] : [part]));
    prediction.replaceChildren('As it is: ', html('b', {}, first), `${then}. If “${symbols[position]}” at position ${position} were `, html('b', {}, `“${alternatives[other]}”`), ' (', ...context(alternatives[other]), '): ', html('b', {class: 'now'}, now), `${nowThen}.`);
    legend.textContent = `Each symbol is shaded by the largest change of ${what} that another in its place brings: blue raises it, red lowers it.`;
    const limit = Math.max(...symbols.map((_, i) => Math.abs(strongest(i))), 1e-9);
    const width = page.width() >= 900 ? (page.width() - 24) * 0.62 : page.width();
    map.replaceChildren(html('figcaption', {}, `Change of ${what}: a column for each symbol of the text, a row for each alternative. Click a cell to try it.`),
      html('div', {class: 'scroll'}, grid(symbols, alternatives, change, shownChange, limit, page.dark(), width, [position, other], (i, one) => {
        state.index = i;
        state.token = one;
        paint();
        page.remember();
      })),
      colourBar(K === 1 ? `−${shown(limit)}` : `−${shown(100 * limit)} points`, K === 1 ? shown(limit) : `${shown(100 * limit)} points`, (part) => signed(part, 1, page.dark()), -1, 1));
    const rows = [...order.slice(0, 5), ...order.slice(5).slice(-5)];
    list.replaceChildren(html('figcaption', {}, `Alternatives to “${symbols[position]}” at position ${position}: those that lower ${what} most, and those that raise it most`),
      html('table', {}, html('thead', {}, html('tr', {}, ...['instead', 'change', 'prediction'].map((name) => html('th', {scope: 'col'}, name)))),
        html('tbody', {}, ...rows.map((i) => html('tr', {}, html('td', {}, alternatives[i]), html('td', {}, shownChange(change(position, i))), html('td', {}, says([...of(position, i)], outputs)[0]))))));
  }

  const select = html('select', {onchange: () => { state.token = Number(select.value); paint(); page.remember(); }});
  body.replaceChildren(
    ...[page.slider(show)].filter(Boolean),
    html('p', {class: 'note'}, 'Click a symbol of the text, and choose what is read instead. The network has read every one of these texts.'),
    text, legend, html('div', {class: 'controls'}, html('label', {}, 'Instead of the chosen symbol ', select)), prediction,
    html('div', {class: page.width() >= 900 ? 'two uneven' : 'side'}, map, list),
    page.downloads(() => map.querySelector('svg'), () => table(symbols, alternatives, outputs, of, state), 'substitutions'),
  );
  await show();
}

function grid(symbols, alternatives, change, shownChange, limit, dark, available, [position, other], onpick) {
  const cell = Math.max(9, Math.min(20, Math.floor((available - 70) / symbols.length)));
  const left = 62, foot = 20;
  const width = left + symbols.length * cell + 4, height = alternatives.length * cell + foot;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', style: 'max-width: none',
    'aria-label': `changes by ${alternatives.length} alternatives at ${symbols.length} positions`});
  const every = Math.max(1, Math.ceil(12 / cell));
  alternatives.forEach((name, o) => {
    if (o % every === 0) root.append(svg('text', {x: left - 6, y: (o + 0.5) * cell + 4, 'text-anchor': 'end'}, cut(name, 8)));
    symbols.forEach((symbol, i) => root.append(svg('rect', {x: left + i * cell, y: o * cell, width: cell - 1, height: cell - 1, class: 'pick',
      fill: name === symbol ? 'none' : signed(change(i, o), limit, dark), onclick: () => onpick(i, o)},
      svg('title', {}, `“${name}” instead of “${symbol}” at position ${i}: ${shownChange(change(i, o))}`))));
  });
  symbols.forEach((symbol, i) => i % every === 0 && root.append(svg('text', {x: left + (i + 0.5) * cell, y: height - 5, 'text-anchor': 'middle'}, cut(symbol, 2))));
  root.append(svg('rect', {x: left + position * cell - 1, y: other * cell - 1, width: cell + 1, height: cell + 1, fill: 'none', class: 'chosen'}));
  return root;
}

function table(symbols, alternatives, outputs, of, state) {
  const head = ['step', 'position', 'symbol', 'instead', ...outputs];
  return [head, ...symbols.flatMap((symbol, i) => alternatives.map((name, o) => [state.step, i, symbol, name, ...of(i, o)]))];
}

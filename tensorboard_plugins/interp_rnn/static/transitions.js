// Token by centroid: how probable each centroid was after each token of a logged sequence, and which words pulled the
// network towards its prediction.

import {html, share, shown, signed, svg} from './charts.js';

export const kinds = ['transition_probabilities'];
export const title = 'Transitions';
export const about = 'The transition probabilities of a state-regularized network along fixed sequences, token by token.';
export const example = `from keras_interp_rnn import callbacks
model.fit(x, y, callbacks=[callbacks.TransitionProbabilities("logs", x[:4], tokens=words)])`;

const CELL = 18;

export async function draw(body, page) {
  const {series, state} = page;
  const sequences = series.shapes[series.shapes.length - 1][0];
  state.index = Math.min(Math.max(0, state.index ?? 0), sequences - 1);
  const map = html('figure');
  const text = html('p', {class: 'text'});
  const hint = html('p', {class: 'note'});
  const outputsTag = page.related('outputs');
  const middle = outputsTag ? page.seriesOf(outputsTag).then((found) => found.middle, () => 0) : 0;
  let marked = state.centroid ?? null;
  let shownSlice = null;
  let outputs = null;

  async function show() {
    const step = state.step;
    const [found, said] = await Promise.all([
      page.slice(step, state.index),
      outputsTag ? page.sliceOf(outputsTag, step).catch(() => null) : null,
    ]);
    if (!page.current() || step !== state.step) return;
    shownSlice = found;
    outputs = said && classes(said, found.shape[1], state.index, await middle);
    paint();
    page.remember();
  }

  function paint() {
    const [time, k] = shownSlice.shape;
    const at = (t, i) => shownSlice.values[t * k + i];
    const read = [...Array(time).keys()].filter((t) => !Number.isNaN(at(t, 0)));
    const tokens = read.map((t) => series.tokens[state.index]?.[t] ?? String(t));
    if (marked !== null && marked >= k) marked = null;
    if (marked === null && !outputs) marked = busiest(read, at, k);
    map.replaceChildren(html('figcaption', {}, 'Rows: centroids. Columns: tokens read. Probability from 0 (pale) to 1 (strong).'),
      heat(read, tokens, k, at, marked, page.dark(), (centroid) => {
      marked = outputs && marked === centroid ? null : centroid;
      state.centroid = marked;
      page.remember();
      paint();
    }));
    const pull = (t) => [...Array(k).keys()].reduce((sum, i) => sum + (outputs.of[i] === outputs.predicted ? 1 : -1) * at(t, i), 0);
    hint.textContent = marked === null
      ? `Predicted: class ${outputs.predicted}. Words are blue where they pull towards it, red where they pull away: the probability of moving to centroids of this class, less that of moving to others. Click a centroid to mark it.`
      : `Words are shaded by the probability of centroid ${marked}.${outputs ? ' Click it again for the pull towards the predicted class.' : ' Click a row to mark another.'}`;
    text.replaceChildren(...read.map((t, i) => {
      const value = marked === null ? pull(t) : at(t, marked);
      const shade = marked === null ? signed(value * 0.8, 1, page.dark()) : share(value * 0.7, page.dark());
      return html('span', {style: `background:${shade}`,
        title: marked === null ? `pull ${shown(value)}` : `centroid ${marked}: ${shown(value)}`}, `${tokens[i]} `);
    }));
  }

  const names = [...Array(sequences).keys()].map((i) => `${i}: ${(series.tokens[i] ?? []).slice(0, 6).join(' ')}`);
  const select = html('select', {onchange: () => { state.index = Number(select.value); show(); }},
    ...names.map((name, i) => html('option', {value: i, selected: i === state.index ? '' : null}, name)));
  body.replaceChildren(
    html('label', {}, 'Sequence ', select),
    page.slider(show),
    html('div', {style: 'overflow-x: auto'}, map), hint, text,
    page.downloads(() => map.querySelector('svg'), () => rows(shownSlice, series, state), 'transitions'),
  );
  await show();
}

function heat(read, tokens, k, at, marked, dark, onmark) {
  const longest = Math.max(...tokens.map((token) => token.length), 1);
  const foot = Math.min(110, 14 + 6.5 * longest);
  const left = 46;
  const width = left + read.length * CELL + 10;
  const height = k * CELL + foot + 10;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': `probabilities of ${k} centroids after each of ${read.length} tokens`, style: 'max-width: none'});
  for (let i = 0; i < k; i++) {
    const mark = () => onmark(i);
    root.append(svg('text', {x: left - 8, y: i * CELL + 14, 'text-anchor': 'end', class: 'label', tabindex: 0, role: 'button',
      'aria-label': `mark centroid ${i}`, 'aria-pressed': String(i === marked), 'font-weight': i === marked ? 'bold' : null, onclick: mark,
      onkeydown: (event) => event.key === 'Enter' && mark()}, i === marked ? `▸ ${i}` : String(i)));
    read.forEach((t, column) => root.append(svg('rect', {
      x: left + column * CELL, y: i * CELL + 1, width: CELL - 1, height: CELL - 1, class: 'cell',
      fill: share(at(t, i), dark), onclick: mark,
    }, svg('title', {}, `after “${tokens[column]}”, centroid ${i}: ${shown(at(t, i))}`))));
  }
  read.forEach((t, column) => root.append(svg('text', {
    transform: `translate(${left + column * CELL + 12} ${k * CELL + 8}) rotate(-90)`, 'text-anchor': 'end',
  }, tokens[column].length > 16 ? `${tokens[column].slice(0, 15)}…` : tokens[column])));
  return root;
}

/** The class of every centroid, and the one predicted for a sequence. */
function classes(outputs, k, sequence, middle) {
  const [, width] = outputs.shape;
  const of = (row) => {
    const values = outputs.values.subarray(row * width, (row + 1) * width);
    return width === 1 ? Number(values[0] > middle) : values.indexOf(Math.max(...values));
  };
  return {of: [...Array(k).keys()].map(of), predicted: of(k + sequence)};
}

function busiest(read, at, k) {
  const counts = Array(k).fill(0);
  for (const t of read) for (let i = 0; i < k; i++) counts[i] += at(t, i);
  return counts.indexOf(Math.max(...counts));
}

function rows(found, series, state) {
  const [time, k] = found.shape;
  const head = ['step', 'sequence', 'position', 'token', ...[...Array(k).keys()].map((i) => `centroid ${i}`)];
  return [head, ...[...Array(time).keys()].map((t) => [
    state.step, state.index, t, series.tokens[state.index]?.[t] ?? '', ...found.values.slice(t * k, (t + 1) * k),
  ])];
}

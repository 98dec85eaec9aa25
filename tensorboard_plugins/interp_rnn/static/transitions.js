// Token by centroid: the probability of each centroid after each token of a logged sequence, and which words support the
// prediction.

import {colourBar, html, raster, rasterImage, remembering, share, shown, signed, svg} from './charts.js';

export const title = 'Transitions';
export const about = 'The transition probabilities of a state-regularized network along fixed sequences, token by token.';
export const example = `import keras
from keras_interp_rnn import callbacks, layers

# x: texts as ids of words, 0 is padding; y: 0 or 1; words: a name for each id
model = keras.Sequential([
    keras.layers.Embedding(len(words), 16, mask_zero=True),
    layers.SRGRU(24, num_centroids=8),
    keras.layers.Dense(1),
])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(x, y, callbacks=[
    callbacks.TransitionProbabilities("logs", x[:4], tokens=words),
])`;

const LEFT = 46;

export async function draw(body, page) {
  const {series, state} = page;
  const sequences = series.shapes[series.shapes.length - 1][0];
  state.index = Math.min(Math.max(0, state.index ?? 0), sequences - 1);
  const map = html('figure');
  const text = html('p', {class: 'text'});
  const hint = html('p', {class: 'note'});
  const outputsTag = page.related('outputs');
  const threshold = outputsTag ? page.seriesOf(outputsTag).then((overview) => overview.middle, () => 0) : 0;
  const slices = remembering(page.slice, 32);
  let marked = state.centroid ?? null;
  let alpha = null;
  let outputs = null;
  let drawn = null;

  async function show() {
    const [step, index] = [state.step, state.index];
    const [slice, answer] = await Promise.all([
      slices(step, index),
      outputsTag ? page.sliceOf(outputsTag, step).catch(() => null) : null,
    ]);
    if (!page.current() || step !== state.step || index !== state.index) return;
    alpha = slice;
    outputs = answer && classes(answer, slice.shape[1], index, await threshold);
    paint();
    page.remember();
  }

  function paint() {
    const [time, k] = alpha.shape;
    const at = (t, i) => alpha.values[t * k + i];
    const read = [...Array(time).keys()].filter((t) => !Number.isNaN(at(t, 0)));
    const names = read.map((t) => series.tokens[state.index]?.[t] ?? String(t));
    if (marked !== null && marked >= k) marked = null;
    if (marked === null && !outputs) marked = busiest(read, at, k);
    const key = [state.index, k, ...read].join();
    if (drawn?.key !== key) {
      const spans = names.map((name) => html('span', {}, `${name} `));
      const cell = Math.max(14, Math.min(34, Math.floor((page.width() - LEFT - 12) / names.length), Math.floor(440 / k)));
      drawn = {key, spans, ...heat(names, k, mark, cell)};
      map.replaceChildren(html('figcaption', {}, 'Probability of each centroid (row) after each token (column)'),
        html('div', {class: 'scroll'}, drawn.root), colourBar('0', '1', (part) => share(part, page.dark())));
      text.replaceChildren(...spans);
    }
    drawn.fill((column, i) => at(read[column], i), marked, page.dark());
    const support = (t) => outputs.of.reduce((sum, kind, i) => sum + (kind === outputs.predicted ? 1 : -1) * at(t, i), 0);
    hint.textContent = marked === null
      ? `Predicted: class ${outputs.predicted}. Blue words support the prediction, red words oppose it: the probability of moving to a centroid of this class, minus that of moving to any other. Click a centroid to select it.`
      : `Words are shaded by the probability of centroid ${marked}. ${outputs ? `Click centroid ${marked} again to shade words by their support of the predicted class.` : 'Click a row to select another centroid.'}`;
    read.forEach((t, column) => {
      const value = marked === null ? support(t) : at(t, marked);
      const shade = marked === null ? signed(value * 0.55, 1, page.dark()) : share(value * 0.7, page.dark());
      drawn.spans[column].style.background = shade;
      drawn.spans[column].title = marked === null ? `support ${shown(value)}` : `centroid ${marked}: ${shown(value)}`;
    });
  }

  function mark(centroid) {
    marked = outputs && marked === centroid ? null : centroid;
    state.centroid = marked;
    page.remember();
    paint();
  }

  const names = [...Array(sequences).keys()].map((i) => `${i}: ${(series.tokens[i] ?? []).slice(0, 6).join(' ')}`);
  const select = html('select', {onchange: () => { state.index = Number(select.value); show(); }},
    ...names.map((name, i) => html('option', {value: i, selected: i === state.index ? '' : null}, name)));
  body.replaceChildren(
    sequences > 1 ? html('label', {}, 'Sequence ', select) : '',
    ...[page.slider(show)].filter(Boolean), map, hint, text,
    page.downloads(() => map.querySelector('svg'), () => rows(alpha, series, state), 'transitions'),
  );
  await show();
}

/** The empty map, and `fill`, which sets its values by (column, centroid) and the selected centroid. */
function heat(tokens, k, onmark, cell) {
  const longest = Math.max(...tokens.map((token) => token.length), 1);
  const foot = Math.min(110, 14 + 6.5 * longest);
  const left = LEFT;
  const [wide, high] = [tokens.length * cell, k * cell];
  const width = left + wide + 10;
  const height = high + foot + 10;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': `probabilities of ${k} centroids after each of ${tokens.length} tokens`, style: 'max-width: none'});
  const labels = [...Array(k).keys()].map((i) => svg('text', {x: left - 8, y: (i + 0.5) * cell + 4, 'text-anchor': 'end', class: 'label',
    tabindex: 0, role: 'button', 'aria-label': `select centroid ${i}`, onclick: () => onmark(i),
    onkeydown: (event) => event.key === 'Enter' && onmark(i)}));
  const image = rasterImage({x: left, y: 0, width: wide, height: high});
  const tip = svg('title', {}, '');
  let value = null;
  const place = (event) => {
    const box = root.getBoundingClientRect();
    const column = Math.floor((((event.clientX - box.left) / box.width) * width - left) / cell);
    const row = Math.floor((((event.clientY - box.top) / box.height) * height) / cell);
    return [Math.max(0, Math.min(tokens.length - 1, column)), Math.max(0, Math.min(k - 1, row))];
  };
  root.append(
    ...labels, image, svg('path', {d: grid(left, wide, high, cell), class: 'gap'}), svg('rect', {x: left, y: 0.5, width: wide, height: high, class: 'frame'}),
    svg('rect', {x: left, y: 0, width: wide, height: high, fill: 'transparent', class: 'pick',
      onclick: (event) => onmark(place(event)[1]),
      onmousemove: (event) => {
        const [column, i] = place(event);
        tip.textContent = `after “${tokens[column]}”, centroid ${i}: ${shown(value(column, i))}`;
      }}, tip),
    ...tokens.map((token, column) => svg('text', {
      transform: `translate(${left + (column + 0.5) * cell + 4} ${high + 8}) rotate(-90)`, 'text-anchor': 'end',
    }, token.length > 16 ? `${token.slice(0, 15)}…` : token)),
  );
  const fill = (values, marked, dark) => {
    value = values;
    const cells = new Float32Array(k * tokens.length);
    for (let i = 0; i < k; i++) for (let column = 0; column < tokens.length; column++) cells[i * tokens.length + column] = values(column, i);
    image.setAttribute('href', raster(cells, k, tokens.length, (part) => share(part, dark)));
    labels.forEach((label, i) => {
      label.textContent = i === marked ? `▸ ${i}` : String(i);
      label.setAttribute('font-weight', i === marked ? 'bold' : 'normal');
      label.setAttribute('aria-pressed', String(i === marked));
    });
  };
  return {root, fill};
}

/** Lines between the cells. */
function grid(left, wide, high, cell) {
  const down = [...Array(Math.round(wide / cell) + 1).keys()].map((i) => `M${left + i * cell} 0V${high}`);
  const across = [...Array(Math.round(high / cell) + 1).keys()].map((i) => `M${left} ${i * cell}h${wide}`);
  return [...down, ...across].join('');
}

/** The class of every centroid, and the predicted class of a sequence. */
function classes(outputs, k, sequence, threshold) {
  const [, width] = outputs.shape;
  const of = (row) => {
    const values = outputs.values.subarray(row * width, (row + 1) * width);
    return width === 1 ? Number(values[0] > threshold) : values.indexOf(Math.max(...values));
  };
  return {of: [...Array(k).keys()].map(of), predicted: of(k + sequence)};
}

function busiest(read, at, k) {
  const counts = Array(k).fill(0);
  for (const t of read) for (let i = 0; i < k; i++) counts[i] += at(t, i);
  return counts.indexOf(Math.max(...counts));
}

function rows(alpha, series, state) {
  const [time, k] = alpha.shape;
  const head = ['step', 'sequence', 'position', 'token', ...[...Array(k).keys()].map((i) => `centroid ${i}`)];
  return [head, ...[...Array(time).keys()].map((t) => [
    state.step, state.index, t, series.tokens[state.index]?.[t] ?? '', ...alpha.values.slice(t * k, (t + 1) * k),
  ])];
}

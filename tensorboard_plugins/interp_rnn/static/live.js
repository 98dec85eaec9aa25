// The arithmetic of a network whose state is affine in the one before, h_t = h_{t-1} W_x + b_x, and whose logits are h R + c,
// in doubles. The matrix W_x of a symbol is an entry of a table, or made of factors, W_x = W + U diag(g_x) V.

/** A network. arrays, flat, row after row: initial (n), bias (K, n), readout (n, outputs), offset (outputs), and kernel (K, n, n)
 * or factors: shared (n, n; may be missing), into (n, f), gains (K, f), out (f, n). Gives `read`. */
export function network(arrays) {
  const {initial, bias, readout} = arrays;
  const offset = Float64Array.from(arrays.offset);
  const n = initial.length;
  const maps = arrays.kernel ? ofTable(arrays.kernel, n) : ofFactors(arrays, n);
  const step = (state, x) => maps.forward(state, x).map((value, j) => value + bias[x * n + j]);
  const logitsOf = (state) => times(state, readout, 0, offset.length);
  let before = {ids: [], states: [Float64Array.from(initial)]}; // the last text, whose beginning is often that of the next

  /** The states at the start and after each symbol. */
  function statesOf(ids) {
    const differ = ids.findIndex((id, t) => id !== before.ids[t]);
    const same = differ < 0 ? ids.length : differ;
    const states = before.states.slice(0, same + 1);
    for (let t = same; t < ids.length; t++) states.push(step(states[t], ids[t]));
    if (differ >= 0) before = {ids, states};
    return states;
  }

  /** Reads a text: every term of the sum, and what the network says of it as it is and changed in one place. */
  return function read(ids) {
    const states = statesOf(ids);
    const rows = new Map(); // output -> what `carry` found

    /** Goes back over the text once with an output's column of the readout: back[t] takes a state before symbol t to that
     * output, terms[t] is the share of the symbol, and rest[t] that of all symbols from t on and of the bias. */
    function carry(o) {
      if (rows.has(o)) return;
      const back = [Float64Array.from({length: n}, (_, k) => readout[k * offset.length + o])];
      const terms = [];
      const rest = [offset[o]];
      for (let t = ids.length - 1; t >= 0; t--) {
        terms.push(dot(bias, ids[t] * n, back[back.length - 1]));
        rest.push(rest[rest.length - 1] + terms[terms.length - 1]);
        back.push(maps.backward(back[back.length - 1], ids[t]));
      }
      rows.set(o, {back: back.reverse(), terms: terms.reverse(), rest: rest.reverse()});
    }

    /** What the end of the text, from symbol t on, makes of a state. */
    function ending(state, t) {
      if (rows.size === offset.length) return offset.map((_, o) => dot(state, 0, rows.get(o).back[t]) + rows.get(o).rest[t]);
      for (; t < ids.length; t++) state = step(state, ids[t]);
      return logitsOf(state).map((value, o) => value + offset[o]);
    }
    const once = (compute) => {
      const found = new Map();
      return (i) => found.get(i) ?? found.set(i, compute(i)).get(i);
    };
    const deleted = once((i) => ending(states[i], i + 1));
    const shares = once((i) => logitsOf(ids.slice(i + 1).reduce(maps.forward, Float64Array.from(bias.subarray(ids[i] * n, (ids[i] + 1) * n)))));
    return {
      length: ids.length, bias: offset, prefix: (n) => logitsOf(states[n]).map((value, o) => value + offset[o]),
      logits: ending(states[ids.length], ids.length),
      carry, carryAll: () => offset.forEach((_, o) => carry(o)),
      start: (o) => dot(initial, 0, rows.get(o).back[0]),
      term: (i, o) => (rows.has(o) ? rows.get(o).terms[i] : shares(i)[o]),
      deleted,
      without: (i, o) => (rows.has(o) ? dot(states[i], 0, rows.get(o).back[i + 1]) + rows.get(o).rest[i + 1] : deleted(i)[o]),
      replaced: (i, x) => ending(step(states[i], x), i + 1),
    };
  };
}

/** v M and M v for the matrix M of each symbol. */
function ofTable(kernel, n) {
  return {forward: (state, x) => times(state, kernel, x * n * n, n), backward: (row, x) => back(row, kernel, x * n * n, n)};
}

function ofFactors({shared, into, gains, out}, n) {
  const f = out.length / n;
  const scaled = (vector, x) => vector.map((value, i) => value * gains[x * f + i]);
  const sum = (first, second) => (second ? first.map((value, i) => value + second[i]) : first);
  return {
    forward: (state, x) => sum(times(scaled(times(state, into, 0, f), x), out, 0, n), shared && times(state, shared, 0, n)),
    backward: (row, x) => sum(back(scaled(back(row, out, 0, f), x), into, 0, n), shared && back(row, shared, 0, n)),
  };
}

/** v M, of a matrix (v.length, width) that begins at `from`. */
function times(v, matrix, from, width) {
  const product = new Float64Array(width);
  for (let k = 0; k < v.length; k++, from += width) {
    const factor = v[k];
    for (let j = 0; j < width; j++) product[j] += factor * matrix[from + j];
  }
  return product;
}

/** M v, of a matrix (height, v.length) that begins at `from`. */
function back(v, matrix, from, height) {
  const product = new Float64Array(height);
  for (let k = 0; k < height; k++, from += v.length) product[k] = dot(matrix, from, v);
  return product;
}

/** The product of a vector and as many numbers from a place on. */
function dot(numbers, from, v) {
  let a = 0, b = 0, c = 0, d = 0; // four sums, none of which waits for the others
  let i = from, j = 0;
  for (; j + 3 < v.length; i += 4, j += 4) {
    a += numbers[i] * v[j];
    b += numbers[i + 1] * v[j + 1];
    c += numbers[i + 2] * v[j + 2];
    d += numbers[i + 3] * v[j + 3];
  }
  for (; j < v.length; i++, j++) a += numbers[i] * v[j];
  return a + b + (c + d);
}

/** The tokens of a text, as `datasets.words.tokenize` splits it: lower-case words, numbers, `...` and single signs. */
export function words(text) {
  const plain = text.normalize('NFC').replace(/[\u2018\u2019\u201b\u02bc]/g, "'").replace(/[\u201c\u201d\u201f]/g, '"').replace(/[\u2010\u2011\u2212]/g, '-').replace(/\u2026/g, '...');
  return plain.toLowerCase().replace(/<br\s*\/?>/g, ' ').match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:'\p{L}+)?|\.\.\.|\S\p{M}*/gu) ?? [];
}

/** A text as ids, the name of each, and what in it is no symbol: [symbol, position from 1]. `typed` are the ids of what a text is made
 * of: letters where all are single ones, else what stands between blanks, or, if it is in `words`, what `words` splits. `unknown`, an
 * id or null, stands for others, which keep their name; `frame` are the ids before a text and behind it. */
export function encoded(text, {alphabet, symbols = alphabet, typed, unknown, frame: [before, behind], in_words: inWords}) {
  const letters = typed.every((id) => [...alphabet[id]].length === 1);
  const place = new Map(typed.map((id) => [alphabet[id], id]));
  const named = (ids) => ids.map((id) => ({id, name: symbols[id]}));
  const found = [];
  const strays = [];
  (letters ? [...text] : inWords ? words(text) : text.split(/\s+/).filter(Boolean)).forEach((name, i) => {
    const id = place.get(name);
    if (id === undefined) strays.push([name, i + 1]);
    if (id !== undefined || unknown !== null) found.push({id: id ?? unknown, name: id === undefined ? name : symbols[id]});
  });
  const all = [...named(before), ...found, ...named(behind)];
  return {ids: all.map(({id}) => id), names: all.map(({name}) => name), strays};
}

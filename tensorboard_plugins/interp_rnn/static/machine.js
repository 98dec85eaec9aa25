// A network as lists of instructions on rows of numbers (deploy/instructions.py), run for many states at once, in doubles.

import {sharesOf} from './shapley.js';

const UNARY = {
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  softplus: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
  tanh: Math.tanh, exp: Math.exp, expm1: Math.expm1, log: Math.log, sqrt: Math.sqrt,
};
const BINARY = {
  add: (x, y) => x + y, subtract: (x, y) => x - y, multiply: (x, y) => x * y, divide: (x, y) => x / y,
  less: (x, y) => (x < y ? 1 : 0), at_least: (x, y) => (x >= y ? 1 : 0), maximum: (x, y) => (x > y || x !== x ? x : y), minimum: (x, y) => (x < y || x !== x ? x : y),
};
const ROWS = { // functions of a row and the place of its first number, in place
  softmax: (data, from, size) => {
    let largest = -Infinity, total = 0;
    for (let j = 0; j < size; j++) largest = Math.max(largest, data[from + j]);
    for (let j = 0; j < size; j++) total += data[from + j] = Math.exp(data[from + j] - largest);
    for (let j = 0; j < size; j++) data[from + j] /= total;
  },
  largest: (data, from, size) => {
    let best = 0;
    for (let j = 1; j < size; j++) if (data[from + j] > data[from + best]) best = j;
    for (let j = 0; j < size; j++) data[from + j] = j === best ? 1 : 0;
  },
};

/** Rows {count, size, data}: `count` rows of `size` numbers, one after the other. */
const rowsOf = (data, size = data.length) => ({count: data.length / size, size, data});

/** f of operands entry by entry; of one row, or one number a row, there are as many as needed. */
function entrywise(f, operands) {
  const count = Math.max(...operands.map((x) => x.count));
  const size = Math.max(...operands.map((x) => x.size));
  const data = new Float64Array(count * size);
  const place = (x) => [x.data, x.count === 1 ? 0 : x.size, x.size === 1 ? 0 : 1];
  const [[a, ra, ja], [b, rb, jb], [c, rc, jc]] = [0, 1, 2].map((i) => place(operands[i] ?? operands[0]));
  for (let r = 0, i = 0; r < count; r++) for (let j = 0; j < size; j++, i++) data[i] = f(a[r * ra + j * ja], b[r * rb + j * jb], c[r * rc + j * jc]);
  return rowsOf(data, size);
}

/** The functions that cells call most, with loops of their own: a call for each number takes longer than an addition. */
const OFTEN = {
  add: (to, a, i, b, j, size) => { for (let k = 0; k < size; k++) to[i + k] = a[i + k] + b[j + k]; },
  subtract: (to, a, i, b, j, size) => { for (let k = 0; k < size; k++) to[i + k] = a[i + k] - b[j + k]; },
  multiply: (to, a, i, b, j, size) => { for (let k = 0; k < size; k++) to[i + k] = a[i + k] * b[j + k]; },
};

/** Of rows `a` and as many rows `b`, or one. */
function often(f, a, b) {
  const data = new Float64Array(a.data.length);
  const across = b.count === 1 ? 0 : b.size;
  for (let r = 0; r < a.count; r++) f(data, a.data, r * a.size, b.data, r * across, a.size);
  return rowsOf(data, a.size);
}

function binary(name, a, b) {
  if (name in OFTEN && a.size === b.size && (b.count === 1 || b.count === a.count)) return often(OFTEN[name], a, b);
  if (name !== 'subtract' && name in OFTEN && a.size === b.size && a.count === 1) return often(OFTEN[name], b, a);
  return entrywise(BINARY[name], [a, b]);
}

function unary(name, x) {
  const {data: from, size} = x;
  const data = new Float64Array(from.length);
  if (name === 'sigmoid') for (let i = 0; i < from.length; i++) data[i] = 1 / (1 + Math.exp(-from[i]));
  else if (name === 'tanh') for (let i = 0; i < from.length; i++) data[i] = Math.tanh(from[i]);
  else {
    const f = UNARY[name];
    for (let i = 0; i < from.length; i++) data[i] = f(from[i]);
  }
  return rowsOf(data, size);
}

function product(x, matrix) {
  const width = matrix.length / x.size;
  const data = new Float64Array(x.count * width);
  for (let r = 0; r < x.count; r++) {
    for (let k = 0, from = 0; k < x.size; k++, from += width) addTimes(data, r * width, x.data[r * x.size + k], matrix, from, width);
  }
  return rowsOf(data, width);
}

function addTimes(to, at, factor, numbers, from, size) {
  for (let j = 0; j < size; j++) to[at + j] += factor * numbers[from + j];
}

function eachRow(f, x) {
  const data = Float64Array.from(x.data);
  for (let r = 0; r < x.count; r++) f(data, r * x.size, x.size);
  return rowsOf(data, x.size);
}

/** Numbers side by side of each row. */
function part(x, first, size) {
  const data = new Float64Array(x.count * size);
  for (let r = 0; r < x.count; r++) data.set(x.data.subarray(r * x.size + first, r * x.size + first + size), r * size);
  return rowsOf(data, size);
}

function joined(parts) {
  const count = Math.max(...parts.map((x) => x.count));
  const size = parts.reduce((sum, x) => sum + x.size, 0);
  const data = new Float64Array(count * size);
  for (let r = 0; r < count; r++) {
    let to = r * size;
    for (const x of parts) {
      const from = x.count === 1 ? 0 : r * x.size;
      data.set(x.data.subarray(from, from + x.size), to);
      to += x.size;
    }
  }
  return rowsOf(data, size);
}

function mean(x) {
  const data = new Float64Array(x.count);
  for (let r = 0; r < x.count; r++) {
    for (let j = 0; j < x.size; j++) data[r] += x.data[r * x.size + j];
    data[r] /= x.size;
  }
  return rowsOf(data, 1);
}

/** Runs instructions on rows by their numbers. id: of the symbol; null for none, the last row of each table. */
function run(instructions, rows, id) {
  for (const [name, target, ...given] of instructions) {
    const [x] = given.map((number) => rows[number]);
    if (name in UNARY) rows[target] = unary(name, x);
    else if (name in BINARY) rows[target] = binary(name, x, rows[given[1]]);
    else if (name in ROWS) rows[target] = eachRow(ROWS[name], x);
    else if (name === 'where') rows[target] = entrywise((chosen, one, other) => (chosen ? one : other), given.map((number) => rows[number]));
    else if (name === 'matmul') rows[target] = product(x, rows[given[1]].data);
    else if (name === 'part') rows[target] = part(x, given[1], given[2]);
    else if (name === 'join') rows[target] = joined(given.map((number) => rows[number]));
    else if (name === 'mean') rows[target] = mean(x);
    else if (name === 'row') rows[target] = ofTable(x.data, given[1], id);
    else throw new Error(`no instruction ${name}`);
  }
}

function ofTable(table, size, id) {
  const at = id === null ? table.length - size : id * size;
  return rowsOf(Float64Array.from(table.subarray(at, at + size)));
}

/** `count` rows of one, or rows as they are. */
function repeated(x, count) {
  if (x.count === count) return x;
  const data = new Float64Array(count * x.size);
  for (let r = 0; r < count; r++) data.set(x.data, r * x.size);
  return rowsOf(data, x.size);
}

/** Rows after rows. */
function stacked(first, second) {
  const data = new Float64Array(first.data.length + second.data.length);
  data.set(first.data);
  data.set(second.data, first.data.length);
  return rowsOf(data, first.size);
}

/** A network of instructions. constants: number -> array. Gives
 * expanded(ids): the outputs of all 2^n coalitions of symbols, bit i of whose index is whether symbol i is there. Another row
 * of each table takes the place of a symbol that is not there. */
export function networkOf({symbol, sides, head, output, count, last, width}, constants) {
  const base = Object.entries(constants).reduce((rows, [number, data]) => Object.assign(rows, {[number]: rowsOf(data)}), []);
  const targets = symbol.map(([, target]) => target);
  const known = new Map(); // id -> the rows of the symbol
  const rowsAt = (id) => {
    if (!known.has(id)) {
      const rows = base.slice();
      run(symbol, rows, id);
      known.set(id, new Map(targets.map((target) => [target, rows[target]])));
    }
    return known.get(id);
  };
  const start = ({starts}) => starts.map((numbers) => rowsOf(Float64Array.from(numbers)));

  function step({step: instructions, states, after}, before, ofSymbol, isLast) {
    const rows = base.slice();
    rows[last] = rowsOf(Float64Array.of(isLast ? 1 : 0));
    for (const [target, value] of ofSymbol) rows[target] = value;
    states.forEach((number, i) => (rows[number] = before[i]));
    run(instructions, rows);
    return after.map((number) => repeated(rows[number], before[0].count));
  }

  /** The outputs, count * width numbers, from the states of each side after n steps. */
  function ending(ends, n) {
    const rows = base.slice();
    sides.forEach(({states}, side) => states.forEach((number, i) => (rows[number] = ends[side][i])));
    rows[count] = rowsOf(Float64Array.of(n));
    run(head, rows);
    return repeated(rows[output], ends[0][0].count).data;
  }

  const orderOf = (side, ids) => (side.backwards ? [...ids.keys()].reverse() : [...ids.keys()]);

  function expanded(ids) {
    const ends = sides.map((side) => {
      let states = start(side);
      let codes = [0]; // of each state
      for (const [place, t] of orderOf(side, ids).entries()) {
        const [without, with_] = [null, ids[t]].map((id) => step(side, states, rowsAt(id), place === ids.length - 1));
        states = without.map((x, i) => stacked(x, with_[i]));
        codes = [...codes, ...codes.map((code) => code + 2 ** t)];
      }
      const inOrder = codes.reduce((places, code, place) => Object.assign(places, {[code]: place}), []);
      return side.backwards ? states.map((x) => picked(x, inOrder)) : states;
    });
    return ending(ends, ids.length);
  }

  /** As `expanded`, of the n + 1 coalitions of an order: none of the symbols, the first, the first two, ... Those that agree on what
   * was read so far share a state. */
  function along(ids, order) {
    const rank = order.reduce((ranks, t, place) => Object.assign(ranks, {[t]: place}), []);
    const ends = sides.map((side) => {
      let states = start(side);
      let firsts = [0]; // the first coalition of each state
      for (const [place, t] of orderOf(side, ids).entries()) {
        const first = rank[t] + 1; // coalition that has the symbol
        const at = firsts.filter((other) => other < first).length; // state, from which on it is there
        if (firsts[at] !== first) {
          const parents = [...firsts.keys()].flatMap((state) => (state === at - 1 ? [state, state] : [state]));
          states = states.map((x) => picked(x, parents));
          firsts = [...firsts.slice(0, at), first, ...firsts.slice(at)];
        }
        const [gone, here] = [rowsAt(null), rowsAt(ids[t])];
        const rows = [...here].map(([target, x]) => [target, stacked(repeated(gone.get(target), at), repeated(x, firsts.length - at))]);
        states = step(side, states, rows, place === ids.length - 1);
      }
      const stateOf = [0, ...order].map((_, coalition) => firsts.filter((first) => first <= coalition).length - 1);
      return states.map((x) => picked(x, stateOf));
    });
    return ending(ends, ids.length);
  }

  /** The outputs of a text as it is. */
  function whole(ids) {
    const ends = sides.map((side) => orderOf(side, ids).reduce((states, t, place) => step(side, states, rowsAt(ids[t]), place === ids.length - 1), start(side)));
    return ending(ends, ids.length);
  }

  /** Reading from the first symbol on, of many words of one length at once; only in one direction. begin(): the states of the empty
   * word; after(states, id): one symbol later; together(list): those of several lists of words; says(states, n): the outputs after n. */
  const [side] = sides;
  const differs = side.step.some(([, , ...given]) => given.includes(last)); // whether the last step is another one
  const begin = () => start(side);
  const after = (states, id) => step(side, states, rowsAt(id), false);
  const together = (list) => list.reduce((all, states) => all.map((x, i) => stacked(x, states[i])));
  const says = (states, n) => ending([states], n);

  /** The outputs after each beginning of a text, the empty one first. */
  function prefixes(ids) {
    const found = [[...says(begin(), 0)]];
    ids.reduce((states, id, t) => {
      const next = after(states, id);
      found.push([...says(differs ? step(side, states, rowsAt(id), true) : next, t + 1)]); // as if it were the last
      return next;
    }, begin());
    return found;
  }

  return {expanded, along, whole, width, ...(sides.length > 1 || side.backwards ? {} : {begin, after, together, says, prefixes})};
}

/** Rows by their numbers. */
function picked(x, numbers) {
  const data = new Float64Array(numbers.length * x.size);
  numbers.forEach((from, r) => data.set(x.data.subarray(from * x.size, (from + 1) * x.size), r * x.size));
  return rowsOf(data, x.size);
}

/** What reads a text by a network of instructions, as `network` of live.js does: what it says of the text, as it is and changed in
 * one place, and the shares of its symbols. options: of `sharesOf`. */
export function reader(data, constants, options) {
  const made = networkOf(data, constants);
  const says = (ids) => [...made.whole(ids)];
  return function read(ids) {
    const once = (compute) => {
      const found = new Map();
      return (i) => found.get(i) ?? found.set(i, compute(i)).get(i);
    };
    const split = once(() => sharesOf(made, ids, options));
    const asRead = once(() => made.along(ids, [...ids.keys()]));
    const prefixes = once(() => made.prefixes(ids));
    const deleted = once((i) => says(ids.filter((_, other) => other !== i)));
    return {
      length: ids.length, logits: says(ids), carry: () => {}, carryAll: () => {},
      get shares() {
        return split(0);
      },
      prefix: made.prefixes ? (n) => prefixes(0)[n] : null,
      asRead: (t, o) => asRead(0)[t * made.width + o],
      deleted, without: (i, o) => deleted(i)[o],
      replaced: (i, x) => says(ids.map((id, other) => (other === i ? x : id))),
    };
  };
}

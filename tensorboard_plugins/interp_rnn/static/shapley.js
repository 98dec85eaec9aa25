// Shapley values of the symbols of a text: exact where it is short, otherwise of sampled orders, with 95 % intervals.

const TIME = 80; // milliseconds of a key
const LEAST = 3; // pairs of orders, of which an error can be told
const MOST = 256;
const FEW = 6; // symbols, of which all coalitions are read at once by any network

/** The shares of n symbols in K outputs: {value(i, o), error(i, o), half of its 95 % interval, 0 where exact, base(o), exact}.
 * network: `networkOf`; options: most, the longest text whose values are exact; pairs, how many orders and their reverses.
 * @param {any} network @param {number[]} ids @param {{most?: number, pairs?: number}} [options] */
export function sharesOf(network, ids, {most, pairs} = {}) {
  const K = network.width;
  const n = ids.length;
  const isShort = most === undefined ? n <= FEW || n <= longestExact(network, ids) : n <= most;
  return isShort ? exact(network.expanded(ids), n, K) : sampled(network, ids, pairs);
}

/** The longest text of which all coalitions are read in the time of a key, 12 at most, from the time for the first few. */
function longestExact(network, ids) {
  const began = now();
  network.expanded(ids.slice(0, FEW));
  const each = (now() - began) / 2 ** (FEW + 1);
  return Math.min(12, Math.floor(Math.log2(TIME / Math.max(each, 1e-6))) - 1);
}

const now = () => globalThis.performance.now();

function exact(values, n, K) {
  const weights = [1 / n]; // of a coalition of s symbols
  for (let s = 1; s < n; s++) weights.push((weights[s - 1] * s) / (n - s));
  const shares = new Float64Array(n * K);
  const sizes = new Uint8Array(2 ** n);
  for (let code = 0; code < 2 ** n; code++) {
    if (code) sizes[code] = sizes[code >> 1] + (code & 1);
    for (let i = 0; i < n; i++) {
      if (code & (1 << i)) continue;
      const [to, from] = [(code | (1 << i)) * K, code * K];
      for (let o = 0; o < K; o++) shares[i * K + o] += weights[sizes[code]] * (values[to + o] - values[from + o]);
    }
  }
  return {value: (i, o) => shares[i * K + o], error: () => 0, base: (o) => values[o], exact: true};
}

function sampled(network, ids, pairs) {
  const K = network.width;
  const n = ids.length;
  const random = generator(n);
  const [sums, squares] = [new Float64Array(n * K), new Float64Array(n * K)];
  const end = now() + TIME;
  let base = null;
  let count = 0;
  while (count < (pairs ?? MOST) && (pairs || count < LEAST || now() < end)) {
    const order = shuffled(n, random);
    const both = [order, [...order].reverse()].map((one) => {
      const values = network.along(ids, one);
      const rank = one.reduce((ranks, i, place) => Object.assign(ranks, {[i]: place}), []);
      base = values.subarray(0, K);
      return (i, o) => values[(rank[i] + 1) * K + o] - values[rank[i] * K + o];
    });
    for (let i = 0; i < n; i++) {
      for (let o = 0; o < K; o++) {
        const share = (both[0](i, o) + both[1](i, o)) / 2;
        sums[i * K + o] += share;
        squares[i * K + o] += share * share;
      }
    }
    count += 1;
  }
  const value = (i, o) => sums[i * K + o] / count;
  const quantile = studentT(count - 1);
  const error = (i, o) => quantile * Math.sqrt(Math.max(0, squares[i * K + o] / count - value(i, o) ** 2) / (count - 1));
  return {value, error, base: (o) => base[o], exact: false};
}

/** The 97.5 % quantile of Student's t, by its expansion about the normal one (Abramowitz and Stegun, 26.7.5). */
export function studentT(degrees) {
  const z = 1.959963984540054;
  const terms = [z, (z ** 3 + z) / 4, (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96, (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160];
  return terms.reduce((sum, term, power) => sum + term / degrees ** power, 0);
}

function shuffled(n, random) {
  const order = [...Array(n).keys()];
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Numbers in [0, 1) that are the same each time (mulberry32). */
function generator(seed) {
  let state = seed + 0x6d2b79f5;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

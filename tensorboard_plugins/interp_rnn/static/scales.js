// Scales, their ticks, and numbers as text.

const FORMS = {
  linear: (x) => x,
  logarithmic: Math.log10,
  symlog: (x) => Math.sign(x) * Math.log10(1 + Math.abs(x)),
};

/** The range of an axis that shows these values: never empty, and within the bounds that the quantity has.
 * bounds: low and high, a percentage 0 and 100. Values that an axis cannot show, as 0 on a logarithmic one, do not count. */
export function rangeOf(values, {low = -Infinity, high = Infinity, form = 'linear'} = {}) {
  const usable = values.filter((value) => Number.isFinite(value) && (form !== 'logarithmic' || value > 0));
  if (!usable.length) return null;
  let [from, to] = [usable.reduce((a, b) => Math.min(a, b)), usable.reduce((a, b) => Math.max(a, b))];
  if (from === to) [from, to] = form === 'logarithmic' ? [from / 2, to * 2] : [from - 0.5, to + 0.5];
  [from, to] = [Math.max(low, from), Math.min(high, to)];
  return from < to ? [from, to] : [from, from + 1];
}

/** A function from [low, high] to [from, to], with `ticks`: linear, logarithmic, or symlog, which has both signs and 0.
 * @param {number[]} range @param {number[]} to @param {string} [form] */
export function scale([low, high], [from, to], form = 'linear') {
  const f = FORMS[form];
  const span = f(high) - f(low) || 1;
  const at = (value) => from + ((f(value) - f(low)) / span) * (to - from);
  at.ticks = (options) => ticks([low, high], {form, ...options});
  return at;
}

/** About so many round numbers in a range; integers only if `whole`. */
export function ticks([low, high], {form = 'linear', count = 5, whole = false} = {}) {
  if (form === 'linear') return rounds(low, high, count, whole);
  if (form === 'logarithmic') return powers(low, high, count);
  const side = (end) => (end > 1 ? powers(1, end, Math.ceil(count / 2)) : rounds(0, end, 2, whole).filter((value) => value > 0));
  return [...side(-low).reverse().map((value) => -value), 0, ...side(high)].filter((value) => value >= low && value <= high);
}

function rounds(low, high, count, whole) {
  const raw = (high - low) / count || 1;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const round = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= raw * (1 - 1e-9));
  const step = whole ? Math.max(1, Math.round(round)) : round;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return [...Array(Math.max(0, last - first + 1)).keys()].map((i) => Number(((first + i) * step).toPrecision(12)));
}

function powers(low, high, count) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / (count + 1)));
  const found = [];
  for (let power = first; power <= last; power += every) found.push(10 ** power);
  if (found.length > 1) return found;
  const between = [1, 2, 5].flatMap((digit) => [digit * 10 ** (first - 1), digit * 10 ** first]).filter((value) => value >= low && value <= high);
  return between.length > 1 ? between.sort((a, b) => a - b) : [low, high];
}

/** What sums of terms may miss, which a page has in 32 bits, in parts of the sum of their sizes. */
export const ROUNDING = 2 ** -20;

/** A number with four digits. */
export function shown(value) {
  if (value === null || Number.isNaN(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? size.toExponential(1).replace('e+', 'e') : String(Number(size.toPrecision(4)));
  return value < 0 ? `−${text}` : text;
}

/** Numbers of one column: all with the decimals that the largest needs for three digits; very small ones with an exponent.
 * noise: what rounding leaves; if no number is larger, all are as good as 0. */
export function column(values, noise = 0) {
  const largest = values.filter(Number.isFinite).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const decimals = largest ? Math.max(0, 2 - Math.floor(Math.log10(largest))) : 0;
  const text = (value) => (largest <= noise ? value.toFixed(Math.min(4, decimals)) : decimals <= 8 ? value.toFixed(decimals) : value === 0 ? '0' : value.toExponential(2));
  return (value) => (Number.isFinite(value) ? text(value).replace(/^-(?=.*[1-9])/, '−').replace(/^-/, '') : '–');
}

/** The same with a sign before numbers that are shown as other than 0. */
export function signedColumn(values, noise = 0) {
  const plain = column(values, noise);
  return (value) => {
    const text = plain(value);
    if (!/[1-9]/.test(text)) return text.replace('−', '');
    return value > 0 ? `+${text}` : text;
  };
}

/** A probability, never rounded to a certainty that it is not. */
export function percent(part, decimals = 1) {
  const text = (100 * part).toFixed(decimals);
  if (part < 1 && Number(text) === 100) return `>${(100 - 10 ** -decimals).toFixed(decimals)}%`;
  if (part > 0 && Number(text) === 0) return `<${(10 ** -decimals).toFixed(decimals)}%`;
  return `${text}%`;
}

/** A difference of probabilities. */
export function points(difference) {
  const text = (100 * Math.abs(difference)).toFixed(1);
  return `${Number(text) === 0 ? '' : difference < 0 ? '−' : '+'}${text} points`;
}

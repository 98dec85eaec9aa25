// SVG elements, scales, colours, tooltips and downloads: what all views draw with.

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element with attributes and children; text is never parsed as HTML. */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') element.style.cssText = value; // a strict policy refuses the attribute
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A function from [low, high] to [from, to], linear or logarithmic. */
export function scale(low, high, from, to, logarithmic = false) {
  const f = logarithmic ? Math.log10 : (x) => x;
  const span = f(high) - f(low) || 1;
  return (value) => from + ((f(value) - f(low)) / span) * (to - from);
}

/** About five round numbers in a range; integers only if `whole`. */
export function ticks(low, high, logarithmic = false, whole = false) {
  if (logarithmic) {
    const first = Math.ceil(Math.log10(low));
    const last = Math.floor(Math.log10(high));
    const every = Math.max(1, Math.ceil((last - first + 1) / 6));
    const powers = [];
    for (let power = first; power <= last; power += every) powers.push(10 ** power);
    if (powers.length > 1) return powers;
    const between = [1, 2, 5].flatMap((digit) => [digit * 10 ** (first - 1), digit * 10 ** first]).filter((value) => value >= low && value <= high);
    return between.length > 1 ? between : [low, high];
  }
  const raw = (high - low) / 5 || 1;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const round = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= raw);
  const step = whole ? Math.max(1, Math.round(round)) : round;
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) values.push(value);
  return values;
}

/** A number with four digits. */
export function shown(value) {
  if (value === null || Number.isNaN(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace('e+', 'e');
  return String(Number(value.toPrecision(4)));
}

/** White (or dark grey) to blue for fractions in [0, 1]. */
export function share(value, dark) {
  if (Number.isNaN(value)) return 'none';
  const from = dark ? [48, 48, 48] : [255, 255, 255];
  const to = dark ? [122, 178, 255] : [8, 64, 129];
  return mixed(from, to, value);
}

/** Red below 0, blue above: colour-blind people can distinguish the two. */
export function signed(value, limit, dark) {
  const middle = dark ? [48, 48, 48] : [247, 247, 247];
  const end = value < 0 ? (dark ? [255, 140, 105] : [178, 24, 43]) : dark ? [122, 178, 255] : [33, 102, 172];
  return mixed(middle, end, Math.min(1, Math.abs(value) / (limit || 1)));
}

/** A raster as a picture, for the href of an image: values (rows * columns) in [0, 1] to colours by `colour`. */
export function raster(values, rows, columns, colour) {
  const canvas = document.createElement('canvas');
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  const table = Uint32Array.from(Array(257).keys(), (i) => {
    const [red, green, blue] = colour(i / 256).match(/\d+/g).map(Number);
    return new Uint32Array(Uint8Array.of(red, green, blue, 255).buffer)[0];
  });
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < rows * columns; i++) {
    if (!Number.isNaN(values[i])) pixels[i] = table[Math.round(256 * Math.max(0, Math.min(1, values[i])))];
  }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/** An image element that shows a raster; `set` its href. */
export function rasterImage(box) {
  return svg('image', {...box, preserveAspectRatio: 'none', style: 'image-rendering: pixelated'});
}

/** What colours stand for: a strip from the colour of 0 to that of 1 (or of `from` to `to`) between two labels. */
export function colourBar(low, high, colour, from = 0, to = 1) {
  const strip = svg('svg', {width: 120, height: 12, viewBox: '0 0 120 12', 'aria-hidden': 'true'});
  for (let i = 0; i < 40; i++) strip.append(svg('rect', {x: 3 * i, y: 0, width: 3.2, height: 12, fill: colour(from + ((to - from) * (i + 0.5)) / 40)}));
  return html('p', {class: 'colours'}, low, strip, high);
}

/** Calls `ask` once for each key, and keeps the last results. */
export function remembering(ask, most = 64) {
  const kept = new Map();
  return (...keys) => {
    const key = keys.join();
    if (!kept.has(key)) {
      const asked = ask(...keys);
      asked.catch(() => kept.delete(key));
      kept.set(key, asked);
      if (kept.size > most) kept.delete(kept.keys().next().value);
    }
    return kept.get(key);
  };
}

function mixed(from, to, part) {
  const clipped = Math.max(0, Math.min(1, part));
  return `rgb(${from.map((start, i) => Math.round(start + clipped * (to[i] - start))).join(',')})`;
}

/** Colours of lines, which the style sheet names: colour-blind people can distinguish them, on light and on dark. */
export const LINES = [0, 1, 2, 3, 4, 5].map((i) => `var(--line-${i})`);

/** Lines over steps.
 * series: [{name, color, dashed, points: [[x, y], ...]}]; options: width, height, x, y (labels), logarithmic, whole (integers
 * only on the y axis), range (of the y axis, by default that of the points), wholeX, names (of the places 0, 1, ... on the x axis), at (a step to mark; `mark` of the drawing
 * moves it), onpick. */
export function lines(series, options) {
  const {width = 640, height = 260, logarithmic = false} = options;
  const left = 80, right = 12, top = 10, bottom = 40;
  const usable = (y) => y !== null && Number.isFinite(y) && (!logarithmic || y > 0);
  const all = series.flatMap((one) => one.points).filter(([, y]) => usable(y));
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': options.label});
  if (!all.length) {
    root.append(svg('text', {x: width / 2, y: height / 2, 'text-anchor': 'middle'}, 'Nothing to draw.'));
    return root;
  }
  let [lowX, highX] = extent(all.map(([x]) => x));
  let [lowY, highY] = options.range ?? extent(all.map(([, y]) => y));
  if (lowX === highX) [lowX, highX] = [lowX - 1, highX + 1];
  if (lowY === highY) [lowY, highY] = logarithmic ? [lowY / 2, highY * 2] : [lowY - 0.5, highY + 0.5];
  const x = scale(lowX, highX, left, width - right);
  const y = scale(lowY, highY, height - bottom, top, logarithmic);
  for (const tick of ticks(lowY, highY, logarithmic, options.whole)) {
    root.append(
      svg('line', {x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: 'grid'}),
      svg('text', {x: left - 6, y: y(tick) + 4, 'text-anchor': 'end'}, shown(tick)),
    );
  }
  for (const tick of options.names ? spaced(options.names, x) : ticks(lowX, highX, false, options.wholeX)) {
    const label = options.names ? cut(options.names[tick], 10) : shown(tick);
    const outside = x(tick) + 3.6 * label.length > width;
    root.append(svg('text', {x: outside ? width : x(tick), y: height - bottom + 16, 'text-anchor': outside ? 'end' : 'middle'}, label));
  }
  root.append(
    svg('text', {x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle'}, options.x),
    svg('text', {transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle'}, options.y),
  );
  for (const one of series) {
    const points = one.points.filter(([, value]) => usable(value));
    const path = points.map(([a, b], i) => `${i ? 'L' : 'M'}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join('');
    const stroke = {stroke: one.color, fill: 'none', 'stroke-width': one.width ?? 1.5};
    root.append(svg('path', {d: path, ...stroke, 'stroke-dasharray': one.dashed ? '5 4' : null}, svg('title', {}, one.name)));
    if (points.length === 1) root.append(svg('circle', {cx: x(points[0][0]), cy: y(points[0][1]), r: 3, fill: one.color}));
  }
  if (options.at !== undefined) {
    const cursor = svg('path', {class: 'cursor'});
    root.mark = (at) => cursor.setAttribute('d', `M${x(at)} ${top}V${height - bottom}`);
    root.mark(options.at);
    root.append(cursor);
  }
  const steps = [...new Set(all.map(([a]) => a))];
  const nearest = (event) => {
    const box = root.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    return steps.reduce((best, step) => (Math.abs(x(step) - at) < Math.abs(x(best) - at) ? step : best));
  };
  const tip = svg('title', {}, '');
  root.append(svg('rect', {
    x: left, y: top, width: width - left - right, height: height - top - bottom, fill: 'transparent', class: options.onpick ? 'pick' : null,
    onclick: options.onpick ? (event) => options.onpick(nearest(event)) : () => {},
    onmousemove: (event) => {
      const step = nearest(event);
      const values = series.map(({name, points}) => [name, points.find(([a]) => a === step)?.[1]]).filter(([, value]) => usable(value ?? null));
      tip.textContent = `${options.x} ${options.names ? options.names[step] : shown(step)}\n${values.map(([name, value]) => `${name}: ${shown(value)}`).join('\n')}`;
    },
  }, tip));
  return root;
}

/** A text of at most so many characters. */
export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The places on an axis whose names have room, from the left. */
function spaced(names, x) {
  const kept = [];
  let end = -Infinity;
  names.forEach((name, i) => {
    const half = 3.6 * cut(name, 10).length;
    if (x(i) - half < end) return;
    kept.push(i);
    end = x(i) + half + 4;
  });
  return kept;
}

export function extent(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}

/** Buttons that save a drawing and its numbers. */
export function downloads(drawing, rows, name) {
  return html('div', {class: 'downloads'},
    html('button', {type: 'button', onclick: () => saveSvg(drawing(), name)}, 'Download SVG'),
    html('button', {type: 'button', onclick: () => savePng(drawing(), name)}, 'Download PNG'),
    html('button', {type: 'button', onclick: () => saveCsv(rows(), name)}, 'Download CSV'),
  );
}

/** One drawing of several, laid out as on the page: in rows of at most a width, each below its caption.
 * rows: lists of [caption, drawing]; key: [name, colour] of what the colours of all of them stand for. */
export function together(rows, width, key = []) {
  const gap = 24, head = 22;
  const parts = [];
  let y = 0, widest = 0;
  if (key.length) {
    parts.push(svg('text', {x: 0, y: 14}, ...key.flatMap(([name, color]) => [svg('tspan', {style: `fill: ${color}`}, '■ '), `${name}   `])));
    y += head;
  }
  for (const row of rows) {
    let x = 0, high = 0;
    for (const [caption, drawing] of row) {
      const {width: wide, height} = drawing.viewBox.baseVal;
      if (x && x + wide > width + 1) {
        x = 0;
        y += high + gap;
        high = 0;
      }
      parts.push(svg('g', {transform: `translate(${x} ${y})`}, svg('text', {x: 0, y: 14}, caption),
        svg('g', {transform: `translate(0 ${head})`}, ...drawing.cloneNode(true).childNodes)));
      widest = Math.max(widest, x + wide);
      high = Math.max(high, head + height);
      x += wide + gap;
    }
    y += high + gap;
  }
  return svg('svg', {viewBox: `0 0 ${Math.ceil(widest)} ${Math.ceil(y - gap)}`, width: Math.ceil(widest), height: Math.ceil(y - gap)}, ...parts);
}

/** Saves a drawing as SVG, with the styles of the page in it. */
export function saveSvg(drawing, name) {
  save(new Blob([alone(drawing)], {type: 'image/svg+xml'}), `${name}.svg`);
}

/** Saves a drawing as PNG, at twice its size on the screen. */
export async function savePng(drawing, name) {
  const {width, height} = drawing.viewBox.baseVal;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(alone(drawing))}`;
  await image.decode();
  const canvas = html('canvas', {width: 2 * width, height: 2 * height});
  const context = canvas.getContext('2d');
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(blob, `${name}.png`));
}

/** A drawing as a file of its own. */
function alone(drawing) {
  const copy = drawing.cloneNode(true);
  copy.setAttribute('xmlns', SVG);
  const styles = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText));
  copy.prepend(svg('style', {}, styles.join('\n')));
  if (document.documentElement.classList.contains('dark')) copy.classList.add('dark');
  return new XMLSerializer().serializeToString(copy);
}

/** Saves rows as CSV; names with commas or quotes are quoted. */
export function saveCsv(rows, name) {
  const cell = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  save(new Blob([rows.map((row) => row.map(cell).join(',')).join('\n') + '\n'], {type: 'text/csv'}), `${name}.csv`);
}

/** A slider over steps, with their number and a button that plays them; null for a single step. */
export function stepSlider(steps, state, onstep) {
  if (steps.length < 2) return null;
  const output = html('output', {}, `step ${state.step}`);
  const id = `ticks-${Math.random().toString(36).slice(2)}`;
  const input = html('input', {type: 'range', min: 0, max: steps.length - 1, step: 1, 'aria-label': 'training step', class: 'steps',
    list: id, oninput: () => {
      state.step = steps[Number(input.value)];
      output.textContent = `step ${state.step}`;
      input.setAttribute('aria-valuetext', output.textContent);
      onstep(state.step);
    }});
  input.value = String(steps.indexOf(state.step));
  const ticks = html('datalist', {id}, ...(steps.length <= 60 ? steps.map((step, i) => html('option', {value: i})) : []));
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = 'Play';
  };
  const play = html('button', {type: 'button', onclick: () => {
    if (timer !== null) return stop();
    play.textContent = 'Stop';
    if (Number(input.value) === steps.length - 1) input.value = '-1';
    timer = setInterval(() => {
      if (!input.isConnected || Number(input.value) === steps.length - 1) return stop();
      input.value = String(Number(input.value) + 1);
      input.dispatchEvent(new Event('input'));
    }, 400);
  }}, 'Play');
  return html('div', {class: 'slider'}, html('label', {class: 'slider'}, 'Step', input, ticks, output), play);
}

/** Saves a text as a file. */
export function saveText(text, name, type) {
  save(new Blob([text], {type}), name);
}

function save(blob, name) {
  const link = html('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  URL.revokeObjectURL(link.href);
}

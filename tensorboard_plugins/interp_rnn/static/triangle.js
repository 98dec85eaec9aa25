// All predictions of a text at once: the norm of each contribution, a row for each source, a column for each prediction.

import {colourBar, raster, remembering, share, shown, svg} from './charts.js';
import {h} from './render.js';

const norms = new WeakMap(); // entry of a tag -> its norms of a step, asked for once

/** The fold: it is filled once the norms are there. */
export function triangleOf(page, {method: {entry}, all, target}, width, onpick) {
  const ask = norms.get(entry) ?? remembering((step) => page.part(entry, step, 0), 4);
  norms.set(entry, ask);
  const place = document.createElement('div');
  ask(page.state.step).then((whole) => place.replaceChildren(...drawn(whole, ['h₀', ...all], target, width, onpick)), () => place.replaceChildren('The norms cannot be read.'));
  return [h('p', {class: 'note'}, 'The norm of each contribution, in nats: a row for each source, a column for each prediction. Click a column to look at it.'), place];
}

function drawn({values}, sources, target, available, onpick) {
  const steps = sources.length - 1;
  const largest = values.subarray(0, (steps + 1) * steps).reduce((most, value) => Math.max(most, value), 1e-9);
  const cell = Math.max(3, Math.min(22, Math.floor((available - 90) / steps)));
  const left = Math.min(110, 12 + 7.2 * Math.max(...sources.map((name) => name.length))), top = 6, foot = 22;
  const [wide, high] = [steps * cell, (steps + 1) * cell];
  const [width, height] = [left + wide + 8, top + high + foot];
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', style: 'max-width: none',
    'aria-label': `norms of the contributions of ${steps + 1} sources to ${steps} predictions`});
  const image = svg('image', {x: left, y: top, width: wide, height: high, preserveAspectRatio: 'none', style: 'image-rendering: pixelated',
    href: raster(Float32Array.from(values.subarray(0, (steps + 1) * steps), (value) => Math.sqrt(value / largest)), steps + 1, steps, share)});
  const every = Math.max(1, Math.ceil(14 / cell));
  const short = (name) => (7.2 * name.length > left - 8 ? `${name.slice(0, Math.floor((left - 8) / 7.2) - 1)}…` : name);
  const along = Math.max(1, Math.ceil((6 + 7.2 * Math.min(8, Math.max(...sources.slice(1).map((name) => name.length)))) / cell));
  const at = (event) => {
    const box = root.getBoundingClientRect();
    const inside = (value, most) => Math.max(0, Math.min(most, Math.floor(value / cell)));
    return [inside(((event.clientX - box.left) / box.width) * width - left, steps - 1), inside(((event.clientY - box.top) / box.height) * height - top, steps)];
  };
  root.append(image, svg('rect', {x: left, y: top, width: wide, height: high, class: 'frame'}),
    ...sources.flatMap((name, s) => (s % every ? [] : [svg('text', {x: left - 6, y: top + (s + 0.5) * cell + 4, 'text-anchor': 'end'}, short(name))])),
    ...sources.slice(1).flatMap((name, t) => (t % along ? [] : [svg('text', {x: left + (t + 0.5) * cell, y: height - 6, 'text-anchor': 'middle'}, name.slice(0, 8))])),
    svg('rect', {x: left + (target - 1) * cell, y: top, width: cell, height: high, fill: 'none', class: 'chosen'}),
    svg('rect', {x: left, y: top, width: wide, height: high, class: 'hit pick', onclick: (event) => onpick(at(event)[0] + 1), onpointermove: (event) => {
      const [t, s] = at(event);
      event.currentTarget.dataset.tip = s > t + 1 ? `${sources[s]} is read later` : `${sources[s]} → after ${sources[t + 1]} (${t + 1}): norm ${shown(values[s * steps + t])} nats`;
    }}));
  const box = document.createElement('div');
  box.className = 'scroll';
  box.append(root);
  return [box, colourBar('0', `${shown(largest)} nats; colour by the square root`, share)];
}

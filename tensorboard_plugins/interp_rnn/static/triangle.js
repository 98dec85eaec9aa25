// All predictions of a text at once: the norm of each contribution, a row for each source, a column for each prediction.

import {colourBar, heatMap, remembering, share, shown} from './charts.js';
import {h} from './render.js';

const norms = new WeakMap(); // entry of a tag -> its norms of a step, asked for once

/** The fold: it is filled once the norms are there. */
export function triangleOf(page, {method: {entry}, all, target}, width, onpick) {
  if (!norms.has(entry)) norms.set(entry, remembering((step) => page.part(entry, step, 0), 4));
  const place = document.createElement('div');
  norms.get(entry)(page.state.step).then(({values}) => {
    const [sources, steps] = [['h₀', ...all], all.length];
    const known = values.subarray(0, (steps + 1) * steps);
    const largest = known.reduce((most, value) => Math.max(most, value), 1e-9);
    place.replaceChildren(heatMap(sources, all, {
      width, height: 22 * (steps + 1), largest: 22, label: `norms of the contributions of ${steps + 1} sources to ${steps} predictions`,
      parts: Float32Array.from(known, (value) => Math.sqrt(value / largest)), colour: share, chosen: {column: target - 1}, onpick: (_, t) => onpick(t + 1),
      tip: (s, t) => (s > t + 1 ? `${sources[s]} is read later` : `${sources[s]} → after ${all[t]} (${t + 1}): norm ${shown(values[s * steps + t])} nats`),
    }), colourBar('0', `${shown(largest)} nats; colour by the square root`, share));
  }, () => place.replaceChildren('The norms cannot be read.'));
  return [h('p', {class: 'note'}, 'The norm of each contribution, in nats: a row for each source, a column for each prediction. Click a column to look at it.'), place];
}

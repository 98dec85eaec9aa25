// A view in a file of its own: its data are a block of JSON in the file, and there is no server.

import {downloads, html} from './charts.js';

/** Draws a view of contributions over what the file shows without scripts. The block holds symbols, outputs and, in base64,
 * the tensor of kinds/contributions.py. */
export async function open(view) {
  const {symbols, outputs, tensor} = JSON.parse(document.getElementById('data').textContent);
  const bytes = Uint8Array.from(atob(tensor), (letter) => letter.charCodeAt(0));
  const values = new Float32Array(bytes.buffer);
  const state = {step: 0, index: symbols.length, off: [], words: false};
  const body = html('div', {class: 'view'});
  const input = html('input', {type: 'range', min: 1, max: symbols.length, step: 1});
  const output = html('output', {});
  const noted = () => {
    input.value = String(state.index);
    output.textContent = `after symbol ${state.index} of ${symbols.length}`;
  };
  const slider = (onstep) => {
    input.addEventListener('input', () => { state.index = Number(input.value); noted(); onstep(); });
    noted();
    return html('label', {class: 'slider'}, 'Prediction', input, output);
  };
  const preferred = window.matchMedia('(prefers-color-scheme: dark)');
  const dark = () => document.documentElement.classList.contains('dark');
  let turn = 0;
  const draw = () => {
    const mine = ++turn;
    document.documentElement.classList.toggle('dark', preferred.matches);
    return view.draw(body, {
      series: {symbols, outputs, steps: [0]}, state, slider, dark, downloads,
      slice: async (step, index) => ({values: index ? terms(values, index, outputs.length) : norms(values, symbols.length, outputs.length)}),
      current: () => mine === turn, remember: noted,
    });
  };
  preferred.addEventListener('change', draw);
  await draw();
  document.querySelector('main > .scroll').replaceChildren(body);
}

/** Rows of the terms of a target, from 1, and the bias behind them. */
function terms(values, target, outputs) {
  const first = ((target - 1) * (target + 2)) / 2;
  const all = new Float32Array((target + 2) * outputs);
  all.set(values.subarray(first * outputs, (first + target + 1) * outputs));
  all.set(values.subarray(-outputs), (target + 1) * outputs);
  return all;
}

/** The norms of all terms: sources are rows, targets columns. */
function norms(values, steps, outputs) {
  const all = new Float32Array((steps + 1) * steps);
  let row = 0;
  for (let target = 1; target <= steps; target++) {
    for (let source = 0; source <= target; source++, row++) {
      const squares = values.subarray(row * outputs, (row + 1) * outputs).reduce((sum, value) => sum + value * value, 0);
      all[source * steps + target - 1] = Math.sqrt(squares);
    }
  }
  return all;
}

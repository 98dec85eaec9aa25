// The module that TensorBoard loads for the tab: the page, with the state in TensorBoard's address and its dark mode.

import {follow, redraw, refresh, start} from './page.js';
import {json, recorded, server} from './sources.js';
import {h, patch} from './render.js';

const PARAMETER = 'interp_rnn';
let sample = null; // code that logs

export async function render() {
  document.head.append(Object.assign(document.createElement('link'), {rel: 'stylesheet', href: './style.css'}));
  document.documentElement.lang = 'en';
  watchLook();
  try {
    const {views, folders} = await json('views');
    const modules = await Promise.all(Object.keys(views).map((name) => import(`./${name}.js`)));
    const places = Object.fromEntries(Object.entries(views).map(([name, kinds], i) => [name, {...modules[i], kinds}]));
    sample = Object.values(places)[0].example;
    const [source, note] = await sourceOf();
    await start({places, folders, source, host: {kept: kept(), remember, link: () => window.parent.location.href, note}});
  } catch (error) {
    patch(document.body, h('p', {class: 'error', role: 'alert'}, `The page cannot be loaded: ${error.message}`));
    return;
  }
  window.addEventListener('message', onReload);
}

/** The logs; where there are none, an example, which says that it is one. */
async function sourceOf() {
  if (Object.keys(await json('tags')).length) return [server, null];
  const {runs} = await json('example.json');
  return [recorded(runs), h('section', {class: 'example', role: 'status'}, h('b', {}, 'Example. '), 'Nothing is logged here yet. This is the network of the preset text-isan.',
    h('details', {}, h('summary', {}, 'How to log your own'), h('pre', {tabindex: 0}, h('code', {}, sample))))];
}

/** TensorBoard posts a message to plugins when it has reloaded its data. */
async function onReload(event) {
  if (event.source !== window.parent) return;
  const text = typeof event.data === 'string' ? event.data : JSON.stringify(event.data ?? '');
  if (!text.includes('experimental.DataReloaded')) return;
  try {
    follow(...await sourceOf());
  } catch {
    // The page says itself that it cannot read.
  }
  refresh();
}

/** The state is kept in the address of TensorBoard's own page, so that a link restores it. */
function kept() {
  try {
    return JSON.parse(new URLSearchParams(window.parent.location.search).get(PARAMETER) ?? '{}') ?? {};
  } catch {
    return {};
  }
}

function remember(state) {
  try {
    const address = new URL(window.parent.location.href);
    address.searchParams.set(PARAMETER, JSON.stringify(state));
    window.parent.history.replaceState(window.parent.history.state, '', address);
  } catch {
    // Not inside TensorBoard, or of another origin: there is no address to write to.
  }
}

function watchLook() {
  const around = window.parent.document.body;
  const apply = () => {
    const dark = around !== document.body && around.classList.contains('dark-mode');
    if (dark === document.documentElement.classList.contains('dark')) return;
    document.documentElement.classList.toggle('dark', dark);
    redraw();
  };
  apply();
  new MutationObserver(apply).observe(around, {attributes: true, attributeFilter: ['class']});
}

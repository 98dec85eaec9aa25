// A place in a file of its own: its data are a block of JSON in the file (recording.py), and there is no server.

import {redraw, start} from './page.js';
import {recorded} from './sources.js';

/** Draws places over what the file shows without scripts. */
export async function open(modules) {
  const {runs, losses, views, folders, state, csv} = JSON.parse(document.getElementById('data').textContent);
  const host = {title: document.title, lead: document.querySelector('.lead')?.textContent, kept: {...state, ...inAddress()}, remember, link: () => window.location.href, csv};
  document.body.classList.remove('static');
  const places = Object.fromEntries(Object.entries(modules).map(([name, module]) => [name, {...module, kinds: views[name]}]));
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  await start({places, folders, source: recorded(runs, losses), host});
  if (window.parent === window) return;
  new ResizeObserver(tellHeight).observe(document.body);
  window.addEventListener('message', ({data}) => data?.interpRnnHeight === 'asked' && tellHeight());
}

/** A page in a frame tells the page around it how high it is, whenever that changes and when it is asked. */
function tellHeight() {
  window.parent.postMessage({interpRnnHeight: Math.ceil(document.body.offsetHeight)}, '*');
}

/** What is looked at is kept behind the # of the address, so that a link opens it again. */
function inAddress() {
  try {
    return JSON.parse(decodeURIComponent(window.location.hash.slice(1)));
  } catch {
    return {};
  }
}

function remember(state) {
  try {
    window.history.replaceState(null, '', `#${encodeURIComponent(JSON.stringify(state))}`);
  } catch {
    // In a frame without an address of its own.
  }
}

// Words that a reader labels: those that would tell an automaton from others, and words of the reader's own. Their labels are
// written as code, with which the search for an automaton goes on. The page without scripts shows the words; here each gets
// a button for every label.

import {blank} from './letters.js';
import {encoded} from './live.js';
import {h, patch} from './render.js';
import {saveText} from './saving.js';

export const title = 'Labels';
export const about = 'What should happen here?';

const plain = document.querySelector('main > .scroll > div');
plain?.querySelector('thead tr')?.append(Object.assign(document.createElement('th'), {scope: 'col', textContent: 'label'}));
const cells = [...plain?.querySelectorAll('tbody tr') ?? []].map((row) => row.appendChild(document.createElement('td')));

const lines = (words) => words.map((word) => `    ${word},\n`).join('');

/** How a language writes a word that is no string, and all words with their labels. */
const FORMS = {
  Python: {
    file: 'answers.py', type: 'text/x-python',
    word: (symbols) => `(${symbols.join(', ')}${symbols.length === 1 ? ',' : ''})`,
    all: (words, labels) => `words += [\n${lines(words)}]\nlabels += [\n${lines(labels)}]\n`,
  },
  JSON: {
    file: 'answers.json', type: 'application/json',
    word: (symbols) => `[${symbols.join(', ')}]`,
    all: (words, labels) => `{"words": [${words.join(', ')}],\n "labels": [${labels.join(', ')}]}\n`,
  },
};

export async function draw(body, page) {
  const {state, series} = page;
  const {questions, labels, forms} = series;
  state.form ??= Object.keys(forms)[0];
  state.answers ??= new Map(); // key of a word -> the place of its label
  state.others ??= []; // words of the reader's own
  const [own, answers] = [0, 1].map(() => document.createElement('section'));
  body.replaceChildren(plain, own, answers);

  const keyOf = (ids) => ids.join();
  const nameOf = (ids) => (ids.length ? ids.map((id) => series.symbols[id]).join(blank(series.symbols)) : 'the empty word');
  const labelOf = (ids) => labels[series.outputs[ids.reduce((at, id) => series.transitions[at][id], series.start)]];

  function show() {
    plain.querySelector('table')?.toggleAttribute('hidden', !questions.length);
    cells.forEach((cell, i) => patch(cell, choice(questions[i])));
    patch(own, ownWords());
    patch(answers, written());
  }

  /** A button for each label of a word; a second click withdraws the label. */
  function choice(ids, more = {}) {
    const now = state.answers.get(keyOf(ids));
    return h('span', {class: 'switch', role: 'group', 'aria-label': `label of ${nameOf(ids)}`}, labels.map((name, label) => h('button', {
      type: 'button', 'aria-pressed': String(label === now), onclick: () => {
        if (label === now) state.answers.delete(keyOf(ids));
        else state.answers.set(keyOf(ids), label);
        state.copied = false;
        more.then?.();
        show();
      }, disabled: more.disabled}, name)));
  }

  /** The box for a word of the reader's own, and the words that it has had. */
  function ownWords() {
    const {ids, strays} = encoded(state.word ?? '', series);
    const names = series.alphabet.map((typed, id) => (typed === series.symbols[id] ? typed : `${typed} for ${series.symbols[id]}`));
    const add = () => {
      if (![...questions, ...state.others].some((word) => keyOf(word) === keyOf(ids))) state.others.push(ids);
      state.word = '';
      /** @type {HTMLElement} */ (own.querySelector('input')).focus();
    };
    return [
      h('h2', {}, 'A word of your own'),
      h('label', {class: 'typed'}, 'Type a word', h('input', {type: 'text', value: state.word ?? '', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', 'aria-describedby': 'symbols read',
        oninput: (event) => {
          state.word = event.target.value;
          show();
        }})),
      h('p', {class: 'note', id: 'symbols'}, `The symbols${blank(series.alphabet) ? ', with blanks between them' : ''}: ${names.join(', ')}`),
      h('p', {class: strays.length ? 'error' : null, id: 'read', role: 'status'}, strays.length
        ? `No symbol of the automaton: ${strays.map(([name, at]) => `“${name}” (number ${at})`).join(', ')}.`
        : `Read: ${nameOf(ids)}. This automaton gives it the label ${labelOf(ids)}.`),
      h('p', {key: 'label'}, 'Its label should be ', choice(ids, {then: add, disabled: strays.length > 0})),
      state.others.filter((word) => state.answers.has(keyOf(word))).map((word) => h('p', {key: keyOf(word), class: 'other'}, choice(word), ' ', nameOf(word))),
    ];
  }

  /** The labelled words as code. */
  function written() {
    const words = [...questions, ...state.others].filter((word) => state.answers.has(keyOf(word)));
    if (!words.length) return [h('h2', {}, 'Your answers'), h('p', {class: 'note'}, 'The words that you label are written here as code.')];
    const {file, type, word, all} = FORMS[state.form];
    const {symbols, labels: values} = forms[state.form];
    const text = all(
      words.map((ids) => (series.letters ? JSON.stringify(ids.map((id) => series.letters[id]).join('')) : word(ids.map((id) => symbols[id])))),
      words.map((ids) => values[state.answers.get(keyOf(ids))]),
    );
    return [
      h('h2', {}, 'Your answers'),
      h('div', {class: 'controls'}, h('span', {class: 'switch', role: 'group', 'aria-label': 'language'}, Object.keys(forms).map((name) => h('button', {
        type: 'button', 'aria-pressed': String(name === state.form), onclick: () => {
          Object.assign(state, {form: name, copied: false});
          show();
        }}, name)))),
      h('label', {class: 'typed'}, 'Words and labels', h('textarea', {readonly: true, rows: Math.min(16, text.split('\n').length), value: text, spellcheck: 'false'})),
      h('div', {class: 'downloads'},
        h('button', {type: 'button', onclick: () => {
          answers.querySelector('textarea').select();
          state.copied = document.execCommand('copy'); // navigator.clipboard is refused in the frame of a notebook
          show();
        }}, 'Copy'),
        h('button', {type: 'button', onclick: () => saveText(text, file, type)}, 'Download'),
        h('span', {role: 'status'}, state.copied ? 'Copied.' : '')),
    ];
  }

  show();
}

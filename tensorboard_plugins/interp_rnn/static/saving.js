// What is passed on: drawings, tables and code as files, and in the clipboard.

import {widthOf} from './bars.js';
import {html, svg} from './charts.js';

const SANS = "Roboto, 'Helvetica Neue', Arial, sans-serif";
const HEADLINE = `600 17px ${SANS}`;
const LINE = 24; // of the headline
const MARGIN = 16;
const NARROW = 560; // of a picture, which a headline fills
const FOOT = 24;
const LONGEST = 60; // name of a file, without its ending

/** What CSS says of an element of a drawing, and SVG has as an attribute. */
const LOOK = ['fill', 'fill-opacity', 'stroke', 'stroke-opacity', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'opacity', 'paint-order', 'font-family', 'font-size', 'font-style', 'font-weight', 'text-anchor', 'text-decoration-line'];
const INITIAL = {'fill-opacity': '1', 'stroke-opacity': '1', 'stroke-dasharray': 'none', 'stroke-linejoin': 'miter', opacity: '1', 'paint-order': 'normal', 'font-style': 'normal', 'text-decoration-line': 'none'};
const STROKES = /^(stroke.*|paint-order)$/;
const TEXTS = ['font-family', 'font-size', 'font-style', 'font-weight', 'text-anchor', 'text-decoration-line'];

/** Buttons that save and copy what is looked at.
 * drawings(button): what is drawn, one or several, of which a picture has one under another; rows(): their numbers; csv(): the same as a
 * file; python(): the same as code, if there is such; title(): the headline; name: of the page, under each picture; file: the names of
 * files without their endings; more: {save, copy}, further buttons. */
export function passing({drawings, rows, csv, python, title, name, file, more}) {
  const drawn = (event) => shownOnPage([drawings(event.currentTarget)].flat().filter(Boolean), (all) => picture(all, title(), name));
  const save = (ending, act) => html('button', {type: 'button', 'aria-label': `Save as ${ending}`, onclick: act}, ending);
  const copy = (what, act) => html('button', {type: 'button', 'aria-label': `Copy ${what}`, onclick: (event) => copied(event.currentTarget, what, act(event))}, what);
  return html('div', {class: 'downloads'},
    html('span', {class: 'switch', role: 'group', 'aria-label': 'Save as a file'}, html('span', {class: 'what'}, 'Save as'),
      save('SVG', (event) => saveBlob(new Blob([alone(drawn(event))], {type: 'image/svg+xml'}), `${file}.svg`)),
      save('PNG', async (event) => saveBlob(await raster(drawn(event)), `${file}.png`)),
      save('CSV', () => saveText(csv(), `${file}.csv`, 'text/csv')), more.save),
    html('span', {class: 'switch', role: 'group', 'aria-label': 'Copy to the clipboard'}, html('span', {class: 'what'}, 'Copy'),
      copy('picture', (event) => ({'image/png': raster(drawn(event))})),
      copy('table', () => tableOf(rows())),
      python ? copy('Python', () => ({'text/plain': text(python())})) : null, more.copy));
}

const text = (content, type = 'text/plain') => new Blob([content], {type});

/** Puts something into the clipboard; the button says so, or why not. */
async function copied(button, what, content) {
  try {
    await navigator.clipboard.write([new ClipboardItem(content)]);
    button.textContent = `${what} ✓`;
    button.setAttribute('aria-label', `Copied ${what}`);
  } catch (error) {
    button.textContent = `${what}: not allowed here`;
    button.setAttribute('data-tip', `The browser refuses: ${error.message}. Save it as a file.`);
  }
}

/** Rows as a table for documents, and as text with tabs for sheets. */
function tableOf(rows) {
  const line = (row, cell) => html('tr', {}, row.map((value) => html(cell, {}, String(value ?? ''))));
  const [head, ...body] = rows;
  const table = html('table', {}, html('thead', {}, line(head, 'th')), html('tbody', {}, body.map((row) => line(row, 'td'))));
  return {'text/html': text(table.outerHTML, 'text/html'), 'text/plain': text(rows.map((row) => row.map((value) => String(value ?? '')).join('\t')).join('\n'))};
}

/** What `act` makes of drawings that are all on the page, where they have their looks: a copy is there for as long. */
function shownOnPage(drawings, act) {
  const added = drawings.filter((one) => !one.isConnected);
  document.documentElement.append(...added);
  try {
    return act(drawings);
  } finally {
    added.forEach((one) => one.remove());
  }
}

/** Drawings one under another, below a headline and above the name of the page. Colours and fonts are written to each element, since
 * other programs know nothing of a page's style sheet. */
function picture(drawings, title, name) {
  const sizes = drawings.map((one) => one.viewBox.baseVal);
  const width = Math.max(NARROW, ...sizes.map((box) => box.width)) + 2 * MARGIN;
  const ink = getComputedStyle(document.body).color;
  const lines = wrapped(title, width - 2 * MARGIN);
  const heads = lines.map((line, i) => svg('text', {x: MARGIN, y: MARGIN + 17 + LINE * i, fill: ink, 'font-family': SANS, 'font-size': 17, 'font-weight': 600}, line));
  let y = MARGIN + LINE * lines.length + (lines.length ? 8 : 0);
  const parts = drawings.map((one, i) => {
    const copy = looking(one);
    for (const [key, value] of Object.entries({x: MARGIN, y, width: sizes[i].width, height: sizes[i].height})) copy.setAttribute(key, value);
    y += sizes[i].height + 8;
    return copy;
  });
  const height = Math.ceil(y + FOOT);
  return svg('svg', {viewBox: `0 0 ${Math.ceil(width)} ${height}`, width: Math.ceil(width), height},
    svg('rect', {width: Math.ceil(width), height, fill: getComputedStyle(document.body).backgroundColor}), heads, parts,
    svg('text', {x: MARGIN, y: height - 12, fill: ink, 'fill-opacity': 0.7, 'font-family': SANS, 'font-size': 12}, name));
}

/** A text in lines of at most so many pixels. */
function wrapped(title, width) {
  const lines = [];
  for (const word of title.split(' ').filter(Boolean)) {
    const longer = `${lines[lines.length - 1] ?? ''} ${word}`;
    if (lines.length && widthOf(longer, HEADLINE) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** A copy of a drawing that looks the same without the page: its looks as attributes, and nothing that only a page can use. */
function looking(drawing) {
  const copy = drawing.cloneNode(true);
  const [own, made] = [drawing, copy].map((root) => [root, ...root.querySelectorAll('*')]);
  own.forEach((element, i) => {
    const style = getComputedStyle(element);
    const other = made[i];
    if (style.display === 'none' || other.tagName === 'title' || (element.classList.contains('hit') && !element.closest('.picked'))) return other.remove();
    for (const {name} of [...other.attributes]) if (/^(class|style|role|tabindex|aria-|data-)/.test(name)) other.removeAttribute(name);
    if (['g', 'svg', 'image'].includes(element.localName)) return style.opacity === '1' ? null : other.setAttribute('opacity', style.opacity);
    const words = ['text', 'tspan'].includes(element.localName);
    for (const name of LOOK) {
      if (TEXTS.includes(name) && !words) continue;
      if (STROKES.test(name) && style.stroke === 'none') {
        other.removeAttribute(name);
        continue;
      }
      const value = style.getPropertyValue(name);
      const attribute = name === 'text-decoration-line' ? 'text-decoration' : name;
      if (value && value !== INITIAL[name]) paint(other, attribute, value);
      else other.removeAttribute(attribute);
    }
    return null;
  });
  return copy;
}

/** Sets an attribute; a colour with an alpha, which older programs cannot read, becomes a colour and an opacity. */
function paint(element, name, value) {
  const [, colour, alpha] = /^rgba\((\d+, \d+, \d+), ([\d.]+)\)$/.exec(value) ?? [];
  if (alpha === undefined) element.setAttribute(name, value);
  else if (Number(alpha) === 0) element.setAttribute(name, 'none');
  else {
    element.setAttribute(name, `rgb(${colour})`);
    element.setAttribute(`${name}-opacity`, alpha);
  }
}

/** A picture as a file of its own. */
function alone(drawn) {
  drawn.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return new XMLSerializer().serializeToString(drawn);
}

/** A picture in pixels, two for each of the screen's. */
async function raster(drawn) {
  const {width, height} = drawn.viewBox.baseVal;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(alone(drawn))}`;
  await image.decode();
  const canvas = html('canvas', {width: 2 * width, height: 2 * height});
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve); });
}

/** Rows as CSV; names with commas or quotes are quoted. */
export function csvOf(rows) {
  const cell = (value) => {
    const content = value === null || value === undefined ? '' : String(value);
    return /[",\n]/.test(content) ? `"${content.replaceAll('"', '""')}"` : content;
  };
  return rows.map((row) => row.map(cell).join(',')).join('\n') + '\n';
}

/** A name for a file about a text: its first words. */
export function fileOf(...parts) {
  const words = parts.join(' ').toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.join('-').slice(0, LONGEST) || 'page';
}

/** Saves a text as a file. */
export function saveText(content, name, type) {
  saveBlob(new Blob([content], {type}), name);
}

function saveBlob(blob, name) {
  const link = html('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  URL.revokeObjectURL(link.href);
}

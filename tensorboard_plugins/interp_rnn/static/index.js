// The module that TensorBoard loads for the tab.

import {start} from './page.js';

export async function render() {
  await start(document);
}

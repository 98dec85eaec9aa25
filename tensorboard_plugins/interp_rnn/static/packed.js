// Arrays of numbers in a page: little-endian floats, deflated, in base64.

const TYPES = {f2: Uint16Array, f4: Float32Array, f8: Float64Array};

/** An array of floats of 2, 4 or 8 bytes. */
export async function unpacked({dtype, values}) {
  const bytes = Uint8Array.from(atob(values), (letter) => letter.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  const numbers = new TYPES[dtype](await new Response(inflated).arrayBuffer());
  return dtype === 'f2' ? Float32Array.from(numbers, half) : numbers;
}

/** A float of 16 bits, finite. */
function half(bits) {
  const power = (bits >> 10) & 31;
  const size = power ? (1 + (bits & 1023) / 1024) * 2 ** (power - 15) : (bits & 1023) * 2 ** -24;
  return bits & 32768 ? -size : size;
}

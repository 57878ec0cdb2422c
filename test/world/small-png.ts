import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Colours that a palette has. */
const most = 256;
/** Those of them that are the most frequent ones. */
const frequent = 192;

/**
 * A screenshot with at most 256 colours, a quarter of its size (PNG, ISO/IEC 15948): of 8 bits a channel, with or without alpha, not interlaced. Each
 * colour that is left out becomes the nearest of the others.
 */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = paletteOf(counts);
  const places = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]));
  const rows = Buffer.alloc((width + 1) * height);
  for (const [at, colour] of pixels.entries()) rows[at + Math.floor(at / width) + 1] = places.get(colour) ?? 0;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits, by palette.
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 0xff, colour & 0xff]));
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Pixels as 0xRRGGBB, row by row. Throws Error for another kind of PNG. */
function decode(png: Buffer): { readonly width: number; readonly height: number; readonly pixels: Uint32Array } {
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height, depth, type, interlaced] = [png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25], png[28]];
  if (depth !== 8 || (type !== 2 && type !== 6) || interlaced !== 0) throw new Error(`could not read a PNG of ${depth} bits, type ${type}`);
  const step = type === 6 ? 4 : 3;
  const bytes = inflateSync(Buffer.concat(parts));
  const pixels = new Uint32Array(width * height);
  let above: Uint8Array = new Uint8Array(width * step);
  for (let y = 0; y < height; y += 1) {
    const begin = y * (width * step + 1);
    const row = unfiltered(bytes.subarray(begin + 1, begin + 1 + width * step), { filter: bytes[begin] ?? 0, above, step });
    for (let x = 0; x < width; x += 1)
      pixels[y * width + x] = ((row[x * step] ?? 0) << 16) | ((row[x * step + 1] ?? 0) << 8) | (row[x * step + 2] ?? 0);
    above = row;
  }
  return { width, height, pixels };
}

interface Filtered {
  readonly filter: number;
  readonly above: Uint8Array;
  readonly step: number;
}

/** A row as it was before its filter: none, sub, up, average or Paeth. */
function unfiltered(row: Uint8Array, { filter, above, step }: Filtered): Uint8Array {
  const out = new Uint8Array(row.length);
  for (let at = 0; at < row.length; at += 1) {
    const [left, up, corner] = [out[at - step] ?? 0, above[at] ?? 0, above[at - step] ?? 0];
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
    out[at] = (row[at] ?? 0) + guess;
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** The most frequent colours, and then those that would change the most, such as a few red dots. */
function paletteOf(counts: ReadonlyMap<number, number>): readonly number[] {
  const sorted = [...counts].toSorted((a, b) => b[1] - a[1]);
  const palette = sorted.slice(0, frequent).map(([colour]) => colour);
  let left = sorted.slice(frequent).map(([colour, count]) => ({ colour, count, far: Math.min(...palette.map((one) => distance(one, colour))) }));
  while (palette.length < most && left.length > 0) {
    const { colour } = left.reduce((worst, one) => (one.far * one.count > worst.far * worst.count ? one : worst));
    palette.push(colour);
    left = left.filter((one) => one.colour !== colour).map((one) => ({ ...one, far: Math.min(one.far, distance(colour, one.colour)) }));
  }
  return palette;
}

function distance(a: number, b: number): number {
  return ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 0xff) - ((b >> 8) & 0xff)) ** 2 + ((a & 0xff) - (b & 0xff)) ** 2;
}

function nearest(palette: readonly number[], colour: number): number {
  let [found, least] = [0, Number.POSITIVE_INFINITY];
  for (const [place, one] of palette.entries()) {
    const far = distance(one, colour);
    if (far < least) [found, least] = [place, far];
  }
  return found;
}

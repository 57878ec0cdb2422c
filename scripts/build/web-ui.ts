import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

/*
 * The Web UI as one archive, which the proxy serves from memory (control/proxy/web-api/ui/read-archive.ts has the layout):
 *
 *     4 bytes   length of the index, big-endian
 *     …         index: JSON, a list of {name, type, etag, brotli: [begin, end], gzip: [begin, end]}
 *     …         the compressed bytes; begin and end count from here
 */

/** A file of the Web UI. */
export interface UiFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Bundles `web/`, names each file by its content, compresses all of them and puts them into one archive. Two runs give the same bytes. */
export async function makeUiArchive(root: string): Promise<Buffer> {
  const assets = await bundleUi(root);
  const icon = named("icon.svg", await readFile(join(root, "web/icon.svg")));
  const template = await readFile(join(root, "web/index.html"), "utf8");
  const places: Readonly<Record<string, string>> = { icon: icon.name, script: entryOf(assets, ".js"), style: entryOf(assets, ".css") };
  const html = template.replaceAll(/%([a-z]+)%/g, (_, place: string) => `/web/assets/${places[place] ?? fail(place)}`);
  return archive([{ name: "index.html", bytes: Buffer.from(html) }, icon, ...assets]);
}

/** Bundles `web/`: each file is named by its content. Equal sources give equal files, wherever they and node_modules are. */
export async function bundleUi(root: string): Promise<readonly UiFile[]> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { main: "web/main.tsx", style: "web/style/main.css" },
    outdir: "web",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    // The hash in a file's name is of its sources' paths too: what a linked node_modules has is named as if it were here.
    preserveSymlinks: true,
    splitting: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2024",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "error",
  });
  return outputFiles.map(({ path, contents }) => ({ name: basename(path), bytes: contents }));
}

function named(file: string, bytes: Uint8Array): UiFile {
  const kind = extname(file);
  return { name: `${basename(file, kind)}-${digest(bytes).slice(0, 8).toUpperCase()}${kind}`, bytes };
}

function entryOf(files: readonly UiFile[], kind: ".js" | ".css"): string {
  const prefix = kind === ".js" ? "main-" : "style-";
  return files.find(({ name }) => name.startsWith(prefix) && name.endsWith(kind))?.name ?? fail(kind);
}

function fail(what: string): never {
  throw new Error(`web/index.html names ${what}, which the bundle does not have`);
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function archive(files: readonly UiFile[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  const add = (bytes: Buffer): readonly [begin: number, end: number] => {
    parts.push(bytes);
    at += bytes.length;
    return [at - bytes.length, at];
  };
  const index = files.map(({ name, bytes }) => ({
    name,
    type: types[extname(name)] ?? fail(name),
    etag: `"${digest(bytes).slice(0, 32)}"`,
    brotli: add(brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } })),
    gzip: add(gzipSync(bytes, { level: 9 })),
  }));
  const head = Buffer.from(JSON.stringify(index));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, ...parts]);
}

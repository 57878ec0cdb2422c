import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Descriptor, imageTypes, type OciLayout } from "./oci-layout.ts";

export interface MadeLayer {
  readonly descriptor: Descriptor;
  /** Digest of the uncompressed layer. */
  readonly diffId: string;
}

export interface LayerInput {
  /** Folder with the layer's files, with the modes that they are to have. */
  readonly root: string;
  /** A file to write in between, on the layout's file system. */
  readonly scratch: string;
  /** Of every file, Unix seconds. */
  readonly epoch: number;
  /** Compress little, in a sixth of the time: for tests. */
  readonly fast: boolean;
}

/** Packs a folder as a layer: equal files make equal bytes, for any owner and any order of the files on the disk. */
export async function makeLayer(layout: OciLayout, { root, scratch, epoch, fast }: LayerInput): Promise<MadeLayer> {
  const always = ["--format=ustar", "--sort=name", `--mtime=@${epoch}`, "--owner=0", "--group=0", "--numeric-owner"];
  const tar = spawn("tar", [...always, "-C", root, "-c", "."], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C" },
  });
  const [plain, packed] = [new Digest(), new Digest()];
  const ended = once(tar, "close");
  await pipeline(tar.stdout, plain, createGzip({ level: fast ? 1 : 9 }), packed, createWriteStream(scratch));
  const [status] = (await ended) as [number | null];
  if (status !== 0) throw new Error(`tar could not pack ${root} (${status})`);
  const descriptor = await layout.move(scratch, { digest: packed.digest(), mediaType: imageTypes.layer });
  return { descriptor, diffId: plain.digest() };
}

/** Passes bytes on, and knows their digest at the end. */
class Digest extends Transform {
  readonly #hash = createHash("sha256");

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.#hash.update(chunk);
    done(null, chunk);
  }

  digest(): string {
    return `sha256:${this.#hash.digest("hex")}`;
  }
}

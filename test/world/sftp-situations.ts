import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { string, u64 } from "../../core/bytes/fields.ts";
import { extensionNames, maxTransfer, openFlags } from "../../core/sftp/numbers.ts";
import type { Ask } from "../../core/sftp-client/sftp-client.ts";
import type { SftpSession } from "./sftp-session.ts";

const extended = (name: string, ...parts: Buffer[]): Ask => ({ type: "extended", name, data: Buffer.concat(parts) });
const { read, write, create, truncate, exclusive, append } = openFlags;

/** Actions by their names; their results are the same on our server and on OpenSSH's; paths are relative to the session's folder. */
export const sftpSituations: Readonly<Record<string, (session: SftpSession) => Promise<unknown>>> = {
  "rename over a file": async ({ ask, at }) => [
    await ask({ type: "rename", path: at("a"), target: at("b") }),
    await ask({ type: "stat", path: at("b") }),
    await ask(extended(extensionNames.posixRename, string(at("a")), string(at("b")))),
    await ask({ type: "stat", path: at("a") }),
  ],
  "rename a folder, over an empty one and over a file": async ({ ask, at }) => [
    await ask({ type: "mkdir", path: at("d1"), attributes: {} }),
    await ask({ type: "mkdir", path: at("d2"), attributes: {} }),
    await ask({ type: "rename", path: at("d1"), target: at("d2") }),
    await ask({ type: "rename", path: at("d1"), target: at("a") }),
    await ask({ type: "rename", path: at("d1"), target: at("d3") }),
    await ask(extended(extensionNames.posixRename, string(at("d3")), string(at("d2")))),
  ],
  "rename what is not there, into what is not there, and onto itself": async ({ ask, at }) => [
    await ask({ type: "rename", path: at("none"), target: at("x") }),
    await ask({ type: "rename", path: at("a"), target: at("none/x") }),
    await ask({ type: "rename", path: at("a"), target: at("a") }),
  ],
  "links: made, read, followed, leading nowhere and in a circle": async ({ ask, at }) => [
    await ask({ type: "symlink", target: Buffer.from("a"), path: at("link") }),
    await ask({ type: "readlink", path: at("link") }),
    await ask({ type: "readlink", path: at("a") }),
    await ask({ type: "stat", path: at("link") }),
    await ask({ type: "lstat", path: at("link") }),
    await ask({ type: "symlink", target: Buffer.from("gone"), path: at("dangling") }),
    await ask({ type: "stat", path: at("dangling") }),
    await ask({ type: "realpath", path: at("dangling") }),
    await ask({ type: "symlink", target: Buffer.from("loop"), path: at("loop") }),
    await ask({ type: "stat", path: at("loop") }),
    await ask({ type: "symlink", target: Buffer.from("a"), path: at("link") }),
  ],
  "hard links": async ({ ask, at }) => [
    await ask(extended(extensionNames.hardlink, string(at("a")), string(at("second")))),
    await ask(extended(extensionNames.hardlink, string(at("a")), string(at("b")))),
    await ask(extended(extensionNames.hardlink, string(at("none")), string(at("x")))),
  ],
  "permissions as asked for at creation, changed, and out of range": async ({ ask, at, open }) => [
    await open("made", write | create, { mode: 0o4777 }),
    await ask({ type: "stat", path: at("made") }),
    await ask({ type: "mkdir", path: at("folder"), attributes: { mode: 0o1777 } }),
    await ask({ type: "stat", path: at("folder") }),
    await ask({ type: "setstat", path: at("a"), attributes: { mode: 0o100_640 } }),
    await ask({ type: "stat", path: at("a") }),
    await ask({ type: "setstat", path: at("none"), attributes: { mode: 0o600 } }),
    await ask({ type: "setstat", path: at("a"), attributes: {} }),
  ],
  "times and sizes": async ({ ask, at, dir }) => [
    await ask({ type: "setstat", path: at("a"), attributes: { size: 2n, times: { accessed: 5, modified: 6 } } }),
    (await stat(join(dir, "a"))).mtimeMs,
    await readFile(join(dir, "a"), "utf8"),
    await ask({ type: "setstat", path: at("a"), attributes: { size: 100n } }),
    await ask({ type: "stat", path: at("a") }),
    await ask({ type: "setstat", path: at("a"), attributes: { size: 2n ** 63n } }),
    await ask({ type: "setstat", path: at(""), attributes: { size: 1n } }),
  ],
  // Offsets that the file system does not have are left out: lseek(2), which OpenSSH calls first, refuses them; pread(2) says that the file ends before.
  "reads at, across and past the end": async ({ ask, open }) => {
    const handle = await open("a", read);
    const at = (offset: bigint, length: number) => ask({ type: "read", handle, offset, length });
    return [
      await at(0n, 5),
      await at(3n, 100),
      await at(10n, 1),
      await at(5000n, 1),
      await at(2n ** 40n, 1),
      await at(2n ** 63n, 1),
      await at(2n ** 64n - 1n, 1),
    ];
  },
  "a read longer than allowed is cut": async ({ ask, open, dir }) => {
    await writeFile(join(dir, "long"), Buffer.alloc(600_000, 1));
    const response = await ask({ type: "read", handle: await open("long", read), offset: 0n, length: 500_000 });
    return [response.type === "data" && response.data.length, maxTransfer];
  },
  "writes at large offsets leave holes": async ({ ask, open, at }) => {
    const handle = await open("sparse", write | create);
    return [
      await ask({ type: "write", handle, offset: 5_000_000_000n, data: Buffer.from("x") }),
      await ask({ type: "stat", path: at("sparse") }),
      await ask({ type: "write", handle, offset: 2n ** 63n - 1n, data: Buffer.from("x") }),
      await ask({ type: "write", handle, offset: 2n ** 64n - 1n, data: Buffer.from("x") }),
      await ask({ type: "read", handle, offset: 0n, length: 1 }),
    ];
  },
  "how files are opened": async ({ ask, at, dir }) => {
    const open = (name: string, flags: number) => ask({ type: "open", path: at(name), flags, attributes: {} });
    return [
      await open("none", read),
      await open("a", write | create | exclusive),
      await open("fresh", write | create | exclusive),
      await open("", read),
      await open("", write),
      await open("a/x", read),
      await open("b", write | truncate),
      (await stat(join(dir, "b"))).size,
    ];
  },
  appending: async ({ ask, open, dir }) => {
    const handle = await open("a", write | append);
    return [await ask({ type: "write", handle, offset: 0n, data: Buffer.from("+") }), await readFile(join(dir, "a"), "utf8")];
  },
  "handles that are none": async ({ ask, open }) => {
    const handle = await open("a", read);
    return [
      await ask({ type: "close", handle }),
      await ask({ type: "read", handle, offset: 0n, length: 1 }),
      await ask({ type: "close", handle }),
      await ask({ type: "fstat", handle: Buffer.from("nonsense") }),
      await ask({ type: "readdir", handle: Buffer.alloc(0) }),
      await ask({ type: "read", handle: await open("", read), offset: 0n, length: 1 }),
    ];
  },
  removing: async ({ ask, at }) => [
    await ask({ type: "mkdir", path: at("full"), attributes: {} }),
    await ask({ type: "mkdir", path: at("full/x"), attributes: {} }),
    await ask({ type: "rmdir", path: at("full") }),
    await ask({ type: "remove", path: at("full") }),
    await ask({ type: "rmdir", path: at("a") }),
    await ask({ type: "rmdir", path: at("none") }),
    await ask({ type: "remove", path: at("none") }),
    await ask({ type: "remove", path: at("a") }),
    await ask({ type: "mkdir", path: at("b"), attributes: {} }),
  ],
  "real paths": async ({ ask, at, dir }) => {
    const real = async (path: Buffer): Promise<unknown> => {
      const response = await ask({ type: "realpath", path });
      return response.type === "name" ? response.files.map(({ name }) => name.toString().replace(dir, "DIR")) : response;
    };
    return [
      await real(Buffer.from("/")),
      await real(at("./x/../a")),
      await real(at("none")),
      await real(at("none/x")),
      await real(at("a/x")),
      await real(Buffer.from("/../..")),
    ];
  },
  "names that are long, no text, or hold odd letters": async ({ ask, at, open, dir }) => {
    const odd = Buffer.concat([at("odd-"), Buffer.from([0xff, 0xfe, 0x0a, 0x1b])]);
    return [
      await ask({ type: "open", path: odd, flags: write | create, attributes: {} }),
      await open("snow-☃", write | create),
      (await readdir(dir, { encoding: "buffer" })).map((name) => name.toString("latin1")).toSorted(),
      await ask({ type: "stat", path: odd }),
      await ask({ type: "stat", path: at("n".repeat(255)) }),
      await ask({ type: "stat", path: at("n".repeat(256)) }),
      await ask({ type: "stat", path: at("d/".repeat(3000)) }),
    ];
  },
  "10,000 names are listed once each, with their attributes": async ({ ask, dir, at }) => {
    await mkdir(join(dir, "many"));
    for (let index = 0; index < 10_000; index += 1) await writeFile(join(dir, "many", `n${index}`), "");
    const opened = await ask({ type: "opendir", path: at("many") });
    const handle = opened.type === "handle" ? opened.handle : Buffer.alloc(0);
    const names = new Set<string>();
    let count = 0;
    let last = await ask({ type: "readdir", handle });
    for (; last.type === "name"; last = await ask({ type: "readdir", handle })) {
      for (const { name, attributes } of last.files) if (attributes.mode !== undefined) names.add(name.toString());
      count += last.files.length;
    }
    return [
      names.size,
      count,
      last,
      await ask({ type: "readdir", handle }),
      await ask({ type: "opendir", path: at("a") }),
      await ask({ type: "opendir", path: at("none") }),
    ];
  },
  "lines of a listing": async ({ ask, dir, at }) => {
    await symlink("a", join(dir, "l"));
    await ask({ type: "setstat", path: at("a"), attributes: { mode: 0o6755, times: { accessed: 1, modified: 1_000_000_000 } } });
    const opened = await ask({ type: "opendir", path: at("") });
    const listed = await ask({ type: "readdir", handle: opened.type === "handle" ? opened.handle : Buffer.alloc(0) });
    // The folder above is another one's.
    return listed.type === "name"
      ? listed.files
          .filter(({ name }) => name.toString() !== "..")
          .map(({ longName }) => longName.toString().replace(/[\d:]+ (\.|l|b)$/, "$1"))
          .toSorted()
      : listed;
  },
  "data copied on the server": async ({ ask, open, dir }) => {
    const from = await open("a", read);
    const to = await open("copy", write | create);
    const copy = (source: bigint, length: bigint, target: bigint) =>
      ask(extended(extensionNames.copyData, string(from), u64(source), u64(length), string(to), u64(target)));
    return [await copy(2n, 3n, 0n), await copy(0n, 0n, 5n), await copy(100n, 5n, 0n), (await readFile(join(dir, "copy"))).toString("latin1")];
  },
  "unknown requests and extensions": async ({ ask }) => [await ask(extended("no-such@example.com"))],
};

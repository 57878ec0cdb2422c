import { within } from "./layers.ts";
import type { SourceFile } from "./source-tree.ts";

/** The only folder that touches ssh2's private parts, and its one module for all others. */
const ssh2Folder = "core/ssh/ssh2";
const ssh2Door = `${ssh2Folder}/hooks.ts`;
/** The only folder that touches Node's. */
const nodeFolder = "core/node-internals";

/** Ways into ssh2 past its one module. One that loads ssh2 before it is patched disables the patches for the whole process. */
export function ssh2Insides(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text, imports, packages }) => {
    if (within(path, ssh2Folder)) return [];
    const inner = packages.filter((name) => name.startsWith("ssh2/")).map((name) => `${path} imports ${name}`);
    const past = imports.filter((target) => within(target, ssh2Folder) && target !== ssh2Door).map((target) => `${path} imports ${target}`);
    const loads = /^import (?!type\b)[^;]*?"ssh2"/m.test(text) ? [`${path} loads ssh2`] : [];
    return [...inner, ...past, ...loads].map((what) => `${what}: ${ssh2Door} is the only way to ssh2`);
  });
}

/** Fields that begin with an underscore, reached as `a._b`, by destructuring, or by their name in a string. */
const patterns: readonly RegExp[] = [
  /[\w)\]]\??\.(_[a-zA-Z]\w*)/,
  /\{[^{}=]*?(?<![\w:] ?)(_[a-z]\w*)\s*(?:[:,][^{}=]*)?\}\s*(?:=(?![=>])|[:)])/,
  /["'`](_(?:events|handle|readableState|writableState|parent|tlsOptions|server|protocol|sock|chanMgr|chanInfo|channel|client))["'`]/,
  /["'`\s.](secureConnecting)\b/,
  /(?<!\bthis)\.(read|write|push|pipe|emit|destroy|cork|uncork) = /,
  /\bObject\.assign\(\w+, \{[^}]*\b(read|write|push|pipe|emit|destroy|cork|uncork)\b/,
  /\b(internalBinding|process\.binding)\(/,
];

/** The one file for private fields of xterm: screen.test.ts beside it fails where a version has others. */
const xtermFile = "web/player/terminal-inside.ts";

/** Code that touches private fields of ssh2 or of Node, or replaces a method of a Node object, outside the places for that. */
export function privateFields(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    if (path === xtermFile || within(path, ssh2Folder) || within(path, nodeFolder) || within(path, "scripts") || within(path, "test/architecture"))
      return [];
    const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
    const found = patterns.flatMap((pattern) => pattern.exec(code)?.[1] ?? []);
    return found.map((field) => `${path} touches ${field}; private parts of ssh2 belong to ${ssh2Folder}, those of Node to ${nodeFolder}`);
  });
}

/** A trick for the memory of idle connections: what it saves for each, KiB of the proxy (`make bench idle`, bench/RESULTS.md). */
export interface MemoryTrick {
  readonly file: string;
  readonly savesKib: number;
}

/** Minimum saving that is worth a reader's time, KiB for each idle connection. */
const leastSaving = 2;

export const memoryTricks: readonly MemoryTrick[] = [
  { file: "core/node-internals/feed-in-pieces.ts", savesKib: 12.2 },
  { file: "core/ssh/ssh2/forget-exchange.ts", savesKib: 8.9 },
];

/** Files for what Node does not offer otherwise, and what fails without them. */
export const nodeNeeds: Readonly<Record<string, string>> = {
  "core/node-internals/descriptor-of.ts":
    "a reload hands its listening sockets over (core/transport/listen-sockets.test.ts); peers that vanish are found (agent/service/watch-peer.slow.test.ts)",
  "core/node-internals/set-high-water-mark.ts": "a user's many requests that are not read hold little at an agent (agent/kube/one-user.slow.test.ts)",
  "core/node-internals/gather-pieces.ts":
    "single bytes that nobody reads are held as a few buffers (agent/http/small-pieces.test.ts, agent/service/pump.test.ts)",
  "core/node-internals/leave-handshake.ts": "HTTP/2 on a TLS socket made by hand (control/auth/open-auth.test.ts)",
  "core/node-internals/make-tls.ts":
    "what a TLS peer sent before its stream closed is read, and a failure ends both (core/transport/arrivals/server-tls.test.ts)",
};

/** Tricks that save too little or are gone, and files of the folder that the two lists do not name. */
export function poorTricks(files: readonly SourceFile[], tricks = memoryTricks, needs = nodeNeeds): string[] {
  const paths = new Set(files.map(({ path }) => path));
  const listed = [...tricks.map(({ file }) => file), ...Object.keys(needs)];
  const poor = tricks.filter(({ savesKib }) => savesKib < leastSaving);
  return [
    ...poor.map(({ file, savesKib }) => `${file} saves ${savesKib} KiB for each idle connection: less than ${leastSaving}, delete it`),
    ...listed.filter((file) => !paths.has(file)).map((file) => `${file} is listed in test/architecture/private-parts.ts, and does not exist`),
    ...[...paths]
      .filter((path) => within(path, nodeFolder) && !path.endsWith(".test.ts") && !listed.includes(path))
      .map((path) => `${path} is not listed in test/architecture/private-parts.ts: measure what it saves (test/world/idle-connections.ts)`),
  ];
}

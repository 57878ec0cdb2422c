import type { SourceFile } from "./source-tree.ts";

/** The layer table of ARCHITECTURE.md: a folder and the folders that it may import besides itself. The longest match counts. */
const lowest = ["core/errors", "core/log", "core/bytes", "core/versions", "core/kinds"];
const nouns = [...lowest, "core/identity", "core/resources"];
const middle = [...nouns, "core/access", "core/transport"];
export const layers: Readonly<Record<string, readonly string[]>> = {
  // Within the first row all read the error and the bytes; nothing else.
  "core/errors": [],
  "core/log": ["core/errors"],
  "core/bytes": ["core/errors"],
  "core/versions": ["core/errors"],
  "core/kinds": ["core/audit/event-spec.ts"],
  "core/audit/event-spec.ts": [],
  "core/audit": [...lowest, "core/resources"],
  "core/limits": ["core/errors"],
  "core/memory": ["core/errors", "core/log"],
  "core/node-internals": ["core/errors", "core/bytes"],
  "core/sftp": ["core/errors", "core/bytes"],
  "core/sftp-client": ["core/errors", "core/bytes", "core/sftp"],
  "core/databases": ["core/errors", "core/bytes"],
  "core/kubernetes": ["core/errors", "core/node-internals", "core/transport/dial", "core/transport/host-port.ts"],
  "core/recording": ["core/errors"],
  "core/processes": [],
  "core/recording-spool": [...nouns, "core/recording", "core/processes", "core/transport"],
  "core/identity": [...lowest, "core/resources"],
  "core/resources": [...lowest, "core/audit/event-spec.ts"],
  "core/access": nouns,
  "core/transport": [...nouns, "core/node-internals"],
  "core/ssh": [...middle, "core/node-internals"],
  "core/config": [...middle, "core/ssh/algorithms.ts"],
  "core/api": [...middle, "core/audit", "core/ssh", "core/config"],
  agent: ["core"],
  control: ["core"],
  cli: ["core"],
  // It must work when all else is broken.
  updater: ["core/errors", "core/log", "core/versions", "core/processes", "core/kubernetes", "core/transport/dial", "core/transport/host-port.ts"],
  // Types alone, which leave nothing in the browser.
  web: ["core/api/web", "core/resources"],
  programs: ["agent", "control", "cli", "core", "updater/kube/run-kube-updater.ts"],
  "main.ts": ["programs", "agent", "core/errors", "core/processes", "core/versions"],
  scripts: [],
  test: ["agent", "control", "cli", "core", "updater", "main.ts", "scripts"],
  bench: ["agent", "control", "cli", "core", "updater", "scripts", "test"],
  "vitest.config.ts": ["test/running"],
};

/** Values that the Web UI imports from the rest: they would bring a server's code into the browser. */
export function webValues(files: readonly SourceFile[]): string[] {
  const value = /^import (?!type\b)[^;]*?from "(\.\.\/[^"]*core\/[^"]+)"/gm;
  return files.flatMap(({ path, text }) =>
    within(path, "web") && !path.endsWith(".test.ts")
      ? [...text.matchAll(value)].map(([, target]) => `${path} imports ${target}: the Web UI imports only types from core, with import type`)
      : [],
  );
}

/** Services of the agent: each stands alone, so that one can be read, changed and left out without the others. */
const services = ["agent/ssh", "agent/db", "agent/app", "agent/kube", "agent/desktop"];
/** The only files of the agent that name a service: the table, and the configuration. */
const namesServices = ["agent/services.ts", "agent/config.ts"];

/** Imports that the table does not allow, and files that it does not place. */
export function layerViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const layer = layerOf(file.path);
    if (layer === undefined) return [`${file.path} is in no layer`];
    return file.imports.flatMap((target) => (allowed(file.path, layer, target) ? [] : [`${file.path} must not import ${target}`]));
  });
}

function allowed(path: string, layer: string, target: string): boolean {
  const service = services.find((one) => within(path, one));
  const wanted = services.find((one) => within(target, one));
  const isTest = /\.test\.tsx?$|\/testing\//.test(path);
  if (wanted !== undefined && wanted !== service && within(path, "agent") && !namesServices.includes(path) && !(isTest && service === undefined))
    return false;
  if (within(target, layer)) return true;
  // A test may import from test/ and scripts/ but never widens the imports of its folder.
  if (isTest && within(target, "test")) return true;
  return (layers[layer] ?? []).some((folder) => within(target, folder));
}

/** Imports of files that are not there: shows that the reading of imports is right. */
export function missingImports(files: readonly SourceFile[], exists: (path: string) => boolean): string[] {
  return files.flatMap((file) => file.imports.flatMap((target) => (exists(target) ? [] : [`${file.path} imports ${target}, which is not there`])));
}

/** Each cycle of imports once, as the chain of its files. Types count: files that need each other to be understood are one unit. */
export function cycles(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const finished = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) found.push([...trail.slice(at), path].join(" -> "));
    if (at >= 0 || finished.has(path)) return;
    for (const target of byPath.get(path)?.imports ?? []) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const file of files) visit(file.path, []);
  return found;
}

/** Folders of core that fewer than two programs need: they belong into the one that does. */
export function lonelyFolders(files: readonly SourceFile[]): string[] {
  const folders = new Set(files.flatMap((file) => /^core\/[^/]+/.exec(file.path)?.[0] ?? []));
  const users = ["agent", "control", "cli", "updater"].map((program) => reachable(files, program));
  return [...folders].filter((folder) => users.filter((paths) => paths.some((path) => within(path, folder))).length < 2);
}

function reachable(files: readonly SourceFile[], program: string): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const target of byPath.get(path)?.imports ?? []) visit(target);
  };
  for (const file of files) if (within(file.path, program) && !file.path.endsWith(".test.ts")) visit(file.path);
  return [...seen];
}

export function within(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function layerOf(path: string): string | undefined {
  return Object.keys(layers)
    .filter((layer) => within(path, layer))
    .sort((a, b) => b.length - a.length)[0];
}

import { within } from "./layers.ts";
import type { SourceFile } from "./source-tree.ts";

/** Files and folders whose code decides and does not act: no input, no output, no clock, no chance. */
export const pure = [
  "core/errors",
  "core/bytes",
  "core/resources",
  "core/identity",
  "core/access",
  "core/sftp",
  "core/recording",
  "core/transport/stream-request.ts",
  "core/transport/tunnel-message.ts",
  "core/transport/host-port.ts",
  "core/transport/alpn.ts",
  "core/transport/dial/choose-proxy.ts",
  "core/config/parse-config.ts",
  "core/config/cross-rules.ts",
  "core/config/issue-text.ts",
  "core/config/nearest-name.ts",
  "agent/config.ts",
  "control/config.ts",
  "cli/platform/config-text.ts",
  "updater/tick/decide.ts",
  "updater/service/service.ts",
  "updater/tick/schedule.ts",
  "updater/state/parse-state.ts",
  "updater/endpoint/endpoint-answer.ts",
  "updater/kube/update/decide-update.ts",
  "updater/kube/update/decide-progress.ts",
  "updater/kube/images/image-reference.ts",
  "updater/kube/cluster/kube-pod.ts",
  "updater/kube/images/registry-answers.ts",
  "updater/kube/cluster/shared-state.ts",
  "updater/kube/update/update-memory.ts",
  "updater/kube/update/update-status.ts",
  "updater/kube/cluster/workload.ts",
  "core/transport/dial/proxy-environment.ts",
] as const;

const effects = new Set(
  [
    "fs",
    "fs/promises",
    "net",
    "tls",
    "dgram",
    "dns",
    "http",
    "http2",
    "https",
    "child_process",
    "timers",
    "timers/promises",
    "sqlite",
    "worker_threads",
  ].map((name) => `node:${name}`),
);
const impurePackages = new Set(["ssh2", "fastify", "undici", "@connectrpc/connect-node", "@lydell/node-pty"]);
const impureWords =
  /\b(Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|setTimeout\(|setInterval\(|process\.|random(?:Bytes|UUID|Int|FillSync)\()/;

/** The part of node:net that only looks at text. */
const onlyAddresses = /^import \{ (isIP|isIPv4|isIPv6|BlockList|, )+ \} from "node:net"/m;

export function impurities(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    if (file.path.endsWith(".test.ts") || !pure.some((place) => within(file.path, place))) return [];
    const acts = (name: string): boolean => effects.has(name) && !(name === "node:net" && onlyAddresses.test(file.text));
    const imports = file.packages.filter((name) => acts(name) || impurePackages.has(name)).map((name) => `${file.path} is pure and imports ${name}`);
    const word = impureWords.exec(withoutComments(file.text))?.[1];
    return word === undefined ? imports : [...imports, `${file.path} is pure and uses ${word.replace("(", "")}`];
  });
}

/** Places of the list that are not there: a rule about nothing would never fire. */
export function missingPurePlaces(files: readonly SourceFile[]): string[] {
  return pure.filter((place) => !files.some((file) => within(file.path, place)));
}

const forbiddenNames = /^(utils?|commons?|helpers?|managers?|misc|bases?|types|constants|index|shared|lib)$/;
/** kebab-case, with a further word after a dot as in `x.test.ts`, `storage.contract.ts`. */
const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/;

export function badNames(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path }) => {
    const parts = path.split("/").map((part) => part.replace(/(\.(test|contract|config|d))?\.tsx?$/, ""));
    return parts.some((part) => forbiddenNames.test(part) || !kebab.test(part)) ? [`${path} has a name that says nothing, or is not kebab-case`] : [];
  });
}

/** Re-exports and default exports. */
export function badExports(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    if (path.endsWith(".config.ts") || path.startsWith("test/architecture/")) return [];
    const code = withoutComments(text);
    const found = /^export default\b/m.test(code) ? ["has a default export"] : [];
    if (/^export (type )?(\*|\{[^}]*\})[^;\n]*\bfrom\b/m.test(code)) found.push("re-exports");
    return found.map((what) => `${path} ${what}`);
  });
}

/** The environment is read by main.ts, that of the updater and the command lines, and passed down. */
export function environmentReaders(files: readonly SourceFile[]): string[] {
  const placed = ["core", "agent", "control", "cli", "updater"];
  return files.flatMap(({ path, text }) => {
    if (path.endsWith(".test.ts") || path === "updater/main.ts" || !placed.some((folder) => within(path, folder))) return [];
    return /\bprocess\.env\b/.test(withoutComments(text)) ? [`${path} reads process.env`] : [];
  });
}

/** A module that makes its own TLS server context misses the settings that all of them share. */
export function tlsContexts(files: readonly SourceFile[]): string[] {
  const own = ["core/transport/arrivals/server-tls.ts", "core/transport/dial/"];
  return files.flatMap(({ path, text }) =>
    /\bcreateSecureContext\(/.test(withoutComments(text)) &&
    !path.endsWith(".test.ts") &&
    !/^(test|bench)\//.test(path) &&
    !own.some((one) => path.startsWith(one))
      ? [`${path} makes a TLS context by itself; core/transport/arrivals/server-tls.ts has it`]
      : [],
  );
}

/** An HTTP request that does not go through core/transport/dial goes past the proxy of the environment, its limits and its messages. */
export function httpClients(files: readonly SourceFile[]): string[] {
  const placed = ["core", "agent", "control", "cli", "updater", "programs"];
  // The others pass on users' requests, over connections that core/transport/dial or a tunnel has opened.
  const own = [
    "core/transport/dial/get-over.ts",
    "core/transport/dial/http-origin.ts",
    "agent/http/upstream-http1.ts",
    "control/proxy/app-front/agent-requests.ts",
  ];
  const client = /^import (?!type\b)[^;"]*\b(request|get|Agent)\b[^;"]*"node:https?"|"undici"/m;
  // A `fetch` that is not called is one of the file's own.
  const fetches = (code: string): boolean => /(?<![.#])\bfetch\(/.test(code) && !/\bfetch\b(?!\()|\bfetch\([^)]*\):/.test(code);
  return files.flatMap(({ path, text }) => {
    if (path.endsWith(".test.ts") || path.includes("/testing/") || own.includes(path) || !placed.some((folder) => within(path, folder))) return [];
    const code = withoutComments(text);
    return client.test(code) || fetches(code) ? [`${path} makes HTTP requests by itself; core/transport/dial has httpsGet and unixGet`] : [];
  });
}

/** Files that the build replaces by their path and that are not there: it would ship what stands for them in the sources. */
export function missingReplacements(files: readonly SourceFile[]): string[] {
  const build = files.find(({ path }) => path === "scripts/build/bundle.ts")?.text ?? "";
  const replaced = [...build.matchAll(/onLoad\(\{ filter: \/(\S+\.ts\$)\/ \}/g)].map(([, pattern = ""]) => pattern);
  if (replaced.length === 0) return ["scripts/build/bundle.ts replaces no file"];
  return replaced.flatMap((pattern) =>
    files.some(({ path }) => new RegExp(pattern).test(path)) ? [] : [`scripts/build/bundle.ts replaces ${pattern}, which is not there`],
  );
}

/** Properties with a number of runs that `make fuzz` cannot raise: a fixed one takes precedence over its own. */
export function fixedRuns(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").some((line) => /\bnumRuns: *\d/.test(line) && !/\bfc\.sample\(/.test(line))
      ? [`${path} fixes the runs of a property; test/fuzz/some-runs.ts has someRuns`]
      : [],
  );
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}

/** Paths in git that are installed, built or kept for the next run; a link of that name counts too. */
export function committedProducts(paths: readonly string[]): string[] {
  return paths.filter((path) => /^(node_modules|dist|\.cache|coverage)(\/|$)/.test(path)).map((path) => `${path} is in git and is not a source`);
}

import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type BuildOptions, build, type OnLoadResult, type Plugin } from "esbuild";
import { lateParserOptimizing } from "./late-parser-optimizing.ts";
import { nameAtLoad } from "./name-at-load.ts";

export interface BundleInput {
  readonly root: string;
  readonly work: string;
  /** Version that the program reports. */
  readonly version: string;
}

export interface Bundles {
  readonly main: string;
  /** The parts that main.ts and programs/ import dynamically, undici and ws, by name: each a script whose value is a CommonJS module function. */
  readonly parts: Readonly<Record<string, string>>;
}

function buildOptions({ root, version }: BundleInput): BuildOptions {
  return {
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    minify: true,
    // Names in stacks stay readable (name-at-load.ts).
    keepNames: true,
    legalComments: "none",
    define: { __PLATFORM_VERSION__: JSON.stringify(version), "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  };
}

/** Bundles the updater into one script: it is small enough for one. */
export async function bundleUpdater(input: BundleInput): Promise<string> {
  const main = join(input.work, "main.cjs");
  await build({ ...buildOptions(input), entryPoints: ["updater/main.ts"], outfile: main, plugins: [onlyHttpClient, lateParserOptimizing] });
  return main;
}

/** Bundles main.ts into one script, and each module that it or programs/ import dynamically into one of its own. */
export async function bundle(input: BundleInput): Promise<Bundles> {
  const { root, work } = input;
  const options = buildOptions(input);
  // Grows while the parts are bundled: a part may load another one.
  const entries = new Set<string>();
  const main = join(work, "main.cjs");
  await build({ ...options, entryPoints: ["main.ts"], outfile: main, plugins: [dynamicParts(root, entries)] });
  const parts: Record<string, string> = {};
  for (const entry of entries) {
    const name = basename(entry, ".ts");
    const file = join(work, `${name}.cjs`);
    await build({
      ...options,
      entryPoints: [entry],
      outfile: file,
      plugins: [
        dynamicParts(root, entries),
        nativeAddons(join(root, "scripts/build/load-native.ts")),
        onlyEnglish,
        onlyHttpClient,
        lateParserOptimizing,
        installScript(root),
        webUi,
        usedOfZod,
      ],
    });
    const code = nameAtLoad(await readFile(file, "utf8"));
    await writeFile(file, `(function(exports,require,module,__filename,__dirname){${code}\n})`);
    parts[name] = file;
  }
  return { main, parts };
}

/** Turns the dynamic imports of main.ts and programs/, of undici and of ws, which several parts have, into loads of parts, and lists them. */
function dynamicParts(root: string, entries: Set<string>): Plugin {
  const loader = JSON.stringify(join(root, "scripts/build/load-part.ts"));
  return {
    name: "dynamic-parts",
    setup: (hooks) => {
      hooks.onResolve({ filter: /\.ts$/ }, ({ kind, path, resolveDir }) => {
        if (kind !== "dynamic-import" || (resolveDir !== root && resolveDir !== join(root, "programs"))) return undefined;
        const entry = join(resolveDir, path);
        entries.add(entry);
        return { path: entry, namespace: "part" };
      });
      hooks.onResolve({ filter: /^(undici|ws)$/ }, ({ kind, path }) => {
        if (kind !== "dynamic-import") return undefined;
        entries.add(path);
        return { path, namespace: "part" };
      });
      hooks.onLoad({ filter: /.*/, namespace: "part" }, ({ path }) => ({
        contents: `module.exports = require(${loader}).loadPart(${JSON.stringify(basename(path, ".ts"))});`,
        resolveDir: root,
      }));
    },
  };
}

/** Redirects imports of `.node` files to our loader, which takes it from the executable. */
function nativeAddons(loader: string): Plugin {
  const load = (name: string): string => `module.exports = require(${JSON.stringify(loader)}).loadNative(${JSON.stringify(name)});`;
  const own = (name: string): OnLoadResult => ({
    contents: `import { loadNative } from ${JSON.stringify(loader)};
let addon;
export function ${name}Addon() { addon ??= loadNative("${name}.node"); return addon; }`,
    resolveDir: "/",
  });
  return {
    name: "native-addons",
    setup: (hooks) => {
      hooks.onLoad({ filter: /node-pty\/requireBinary\.js$/ }, () => ({
        contents: `exports.requireBinary = require(${JSON.stringify(loader)}).loadNative;`,
        resolveDir: "/",
      }));
      hooks.onLoad({ filter: /core\/memory\/memory-addon\.ts$/ }, () => own("memory"));
      hooks.onLoad({ filter: /agent\/host\/host-addon\.ts$/ }, () => own("host"));
      hooks.onLoad({ filter: /core\/processes\/process-addon\.ts$/ }, () => own("process"));
      hooks.onLoad({ filter: /agent\/host\/session\/session-program\.ts$/ }, () => ({
        contents: `export { sessionProgram } from ${JSON.stringify(join(dirname(loader), "session-program.ts"))};`,
        resolveDir: "/",
      }));
      hooks.onResolve({ filter: /\/sshcrypto\.node$|^cpu-features$/ }, ({ path }) => ({ path, namespace: "native" }));
      hooks.onLoad({ filter: /sshcrypto\.node$/, namespace: "native" }, () => ({ contents: load("sshcrypto.node"), resolveDir: "/" }));
      // Only reorders ciphers, which we name ourselves.
      hooks.onLoad({ filter: /^cpu-features$/, namespace: "native" }, () => ({ contents: `throw new Error("left out");` }));
    },
  };
}

/** The proxy serves the install script: its text becomes part of the program. */
function installScript(root: string): Plugin {
  return {
    name: "install-script",
    setup: (hooks) =>
      hooks.onLoad({ filter: /downloads\/install-script\.ts$/ }, async () => {
        const text = await readFile(join(root, "scripts/install.sh"), "utf8");
        return { contents: `export function installScript() { return ${JSON.stringify(text)}; }` };
      }),
  };
}

/** The proxy serves the Web UI: its archive is an asset of the executable, and stays where it is mapped. */
const webUi: Plugin = {
  name: "web-ui",
  setup: (hooks) =>
    hooks.onLoad({ filter: /web-api\/ui\/ui-archive\.ts$/ }, () => ({
      contents: `import { getRawAsset } from "node:sea";
export async function uiArchive() { return Buffer.from(getRawAsset("web-ui.bin")); }`,
      resolveDir: "/",
    })),
};

/** Leaves out compiled addons; ssh2 then works without them. */
export const withoutNative: Plugin = {
  name: "without-native",
  setup: (hooks) => {
    hooks.onResolve({ filter: /\.node$|^cpu-features$/ }, ({ path }) => ({ path, namespace: "without" }));
    hooks.onLoad({ filter: /.*/, namespace: "without" }, () => ({ contents: `throw new Error("left out");` }));
  },
};

/** zod has its messages in forty languages, 268 KB; ours are in English. */
export const onlyEnglish: Plugin = {
  name: "only-english",
  setup: (hooks) => hooks.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: `export { default as en } from "./en.js";` })),
};

/**
 * zod as a namespace, from which esbuild leaves out what nothing uses: half of it, 100 KB in each part. It keeps the whole of a namespace
 * that is imported by a name, as zod's documentation has it and our files.
 */
export const usedOfZod: Plugin = {
  name: "used-of-zod",
  setup: (hooks) =>
    hooks.onLoad({ filter: /\.ts$/, namespace: "file" }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const contents = text.replace('import { z } from "zod";', 'import * as z from "zod";');
      return contents === text ? undefined : { contents, loader: "ts" };
    }),
};

/** undici's HTTP client alone: with fetch, WebSocket, caches and mocks it is twice as large, and takes 4 MiB more when it is loaded. */
export const onlyHttpClient: Plugin = {
  name: "only-http-client",
  setup: (hooks) =>
    hooks.onLoad({ filter: /\/undici\/index\.js$/ }, ({ path }) => ({
      contents: `require("./lib/dispatcher/dispatcher.js").prototype.request = require("./lib/api/api-request.js");
exports.Client = require("./lib/dispatcher/client.js");`,
      resolveDir: dirname(path),
    })),
};

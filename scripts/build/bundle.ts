import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";

/** Bundles main.ts and all that it imports into one CommonJS file. */
export async function bundle(root: string, output: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const { warnings } = await build({
    absWorkingDir: root,
    entryPoints: ["main.ts"],
    outfile: output,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    minify: true,
    // Names in stacks stay readable.
    keepNames: true,
    legalComments: "none",
    define: { __PLATFORM_VERSION__: JSON.stringify(version), "process.env.NODE_ENV": '"production"' },
    plugins: [nativeAddons(join(root, "scripts/build/load-native.ts"))],
    logLevel: "error",
  });
  if (warnings.length > 0) throw new Error(`esbuild warns: ${warnings.map((warning) => warning.text).join("; ")}`);
  return output;
}

/** Sends what wants a `.node` file to our loader, which takes it from the executable. */
function nativeAddons(loader: string): Plugin {
  const load = (name: string): string => `module.exports = require(${JSON.stringify(loader)}).loadNative(${JSON.stringify(name)});`;
  return {
    name: "native-addons",
    setup: (hooks) => {
      hooks.onLoad({ filter: /node-pty\/requireBinary\.js$/ }, () => ({
        contents: `exports.requireBinary = require(${JSON.stringify(loader)}).loadNative;`,
        resolveDir: "/",
      }));
      hooks.onResolve({ filter: /\/sshcrypto\.node$|^cpu-features$/ }, ({ path }) => ({ path, namespace: "native" }));
      hooks.onLoad({ filter: /sshcrypto\.node$/, namespace: "native" }, () => ({ contents: load("sshcrypto.node"), resolveDir: "/" }));
      // Only reorders ciphers, which we name ourselves.
      hooks.onLoad({ filter: /^cpu-features$/, namespace: "native" }, () => ({ contents: `throw new Error("left out");` }));
    },
  };
}

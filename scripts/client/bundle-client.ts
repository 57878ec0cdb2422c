import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { onlyEnglish, onlyHttpClient, usedOfZod, withoutNative } from "../build/bundle.ts";

/** Oldest Node.js that the client runs on: `tls.setDefaultCACertificates`, by which NODE_EXTRA_CA_CERTS loses its effect, came with it. */
export const oldestNode = [22, 19] as const;

/**
 * Bundles main.ts into one script with tsh and tctl only, without anything compiled: ssh2 then does its ciphers by Node's own crypto.
 * Who loads it says which program it is, by its path in `globalThis.platformProgram`.
 */
export async function bundleClient({ root, version, output }: { root: string; version: string; output: string }): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: ["main.ts"],
    outfile: output,
    bundle: true,
    platform: "node",
    target: `node${oldestNode.join(".")}`,
    format: "cjs",
    minify: true,
    keepNames: true,
    legalComments: "none",
    define: {
      __PLATFORM_VERSION__: JSON.stringify(version),
      "process.env.NODE_ENV": '"production"',
      "process.argv0": "globalThis.platformProgram",
    },
    plugins: [onlyClients(root), withoutNative, onlyEnglish, onlyHttpClient, usedOfZod],
    logLevel: "error",
  });
}

/** Of main.ts's programs, tsh and tctl; the rest is the server's and the agent's. */
function onlyClients(root: string): Plugin {
  const clients = ["tsh.ts", "tctl.ts"].map((name) => join(root, "programs", name));
  return {
    name: "only-clients",
    setup: (hooks) => {
      hooks.onResolve({ filter: /\.ts$/ }, ({ kind, path, resolveDir }) => {
        if (kind !== "dynamic-import" || resolveDir !== root || clients.includes(join(resolveDir, path))) return undefined;
        return { path, namespace: "left-out" };
      });
      hooks.onLoad({ filter: /.*/, namespace: "left-out" }, ({ path }) => ({
        contents: `throw new Error(${JSON.stringify(`${path} is not part of the client`)});`,
      }));
    },
  };
}

import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { onlyEnglish, withoutNative } from "../../scripts/build/bundle.ts";
import { compiledStarter } from "../inside/compiled-starter.ts";
import { compiledHostAddon } from "./compiled-host-addon.ts";
import { root } from "./package-world-sources.ts";

export interface OtherVersion extends AsyncDisposable {
  readonly platform: string;
  readonly tsh: string;
}

/**
 * Programs of our sources that say another version: the bundle with another constant, run by the bundled runtime, because a single
 * executable of each version takes a minute to build.
 */
export async function makeOtherVersion(version: string): Promise<OtherVersion> {
  const dir = await mkdtemp(join(tmpdir(), "platform-version-"));
  const script = join(dir, "main.cjs");
  await build({
    absWorkingDir: root,
    entryPoints: ["main.ts"],
    outfile: script,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    // ssh2 is found by the names of its classes.
    keepNames: true,
    define: { __PLATFORM_VERSION__: JSON.stringify(version), ...places },
    plugins: [compiledHere, withoutNative, onlyEnglish],
    logLevel: "error",
  });
  const [platform, tsh] = ["platform", "tsh"].map((name) => join(dir, name)) as [string, string];
  for (const file of [platform, tsh]) {
    // The name that it is called by says which program it is.
    await writeFile(file, `#!/bin/bash\nexec -a "$0" ${process.execPath} ${script} "$@"\n`);
    await chmod(file, 0o755);
  }
  return { platform, tsh, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}

/** Of the two sources that ask where they are: how a program of theirs is started, and where the install script is. */
const places = {
  "import.meta.url": JSON.stringify(pathToFileURL(join(root, "agent/ssh/ssh-service.ts"))),
  "import.meta.dirname": JSON.stringify(join(root, "control/proxy/web-api")),
};

/** Native files that an agent needs to start, as compiled by the unit tests. */
const compiledHere: Plugin = {
  name: "compiled-here",
  setup: (hooks) => {
    hooks.onLoad({ filter: /agent\/host\/host-addon\.ts$/ }, () => ({
      contents: `let held;
export function hostAddon() {
  if (held === undefined) process.dlopen(held = { exports: {} }, ${JSON.stringify(compiledHostAddon())});
  return held.exports;
}`,
    }));
    hooks.onLoad({ filter: /agent\/host\/session\/session-program\.ts$/ }, () => ({
      contents: `import { openSync } from "node:fs";
let opened;
export function sessionProgram() { return opened ??= openSync(${JSON.stringify(compiledStarter())}, "r"); }`,
    }));
  },
};

import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../build/run.ts";
import { bundleClient, oldestNode } from "./bundle-client.ts";

export interface ClientRequest {
  readonly root: string;
  readonly out: string;
  /** As npm writes it. */
  readonly version: string;
}

/** Packs tsh and tctl for every system with Node.js, as npm takes it: `platform-client-<version>.tgz` in `out`. Its path. */
export async function packClient({ root, out, version }: ClientRequest): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), "platform-client-"));
  try {
    for (const folder of ["bin", "lib"]) await mkdir(join(work, folder));
    await bundleClient({ root, version, output: join(work, "lib/client.cjs") });
    for (const name of ["tsh", "tctl"]) {
      await writeFile(join(work, "bin", name), start(name));
      await chmod(join(work, "bin", name), 0o755);
    }
    await writeFile(join(work, "package.json"), `${JSON.stringify(manifest(version), undefined, 2)}\n`);
    await writeFile(join(work, "README.md"), readme);
    await copyFile(join(root, "LICENSE"), join(work, "LICENSE"));
    await run("npm", ["pack", "--silent", "--ignore-scripts", "--offline"], { cwd: work, env: { HOME: work } });
    const [made = ""] = (await readdir(work)).filter((name) => name.endsWith(".tgz"));
    await mkdir(out, { recursive: true });
    // Another file system, perhaps: whole under its name at once.
    const file = join(out, made);
    await writeFile(`${file}.new`, await readFile(join(work, made)));
    await rename(`${file}.new`, file);
    return file;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function manifest(version: string): object {
  return {
    name: "platform-client",
    version,
    description: "tsh and tctl: get into hosts, and administer the cluster",
    license: "Apache-2.0",
    bin: { tsh: "bin/tsh", tctl: "bin/tctl" },
    files: ["bin", "lib"],
    engines: { node: `>=${oldestNode.join(".")}` },
  };
}

/** Any Node.js must be able to read it: it reports the required version to an old one. */
function start(name: string): string {
  return `#!/usr/bin/env node
"use strict";
if (typeof require("tls").setDefaultCACertificates !== "function") {
  process.stderr.write("ERROR: ${name} needs Node.js ${oldestNode.join(".")} or newer, and this is " + process.version + "\\n");
  process.exit(2);
}
globalThis.platformProgram = __filename;
require("../lib/client.cjs");
`;
}

const readme = `# platform-client

\`tsh\` and \`tctl\` for macOS and for every other system with Node.js ${oldestNode.join(".")} or newer. Nothing in it is compiled.

    npm install --global https://access.example.com/packages/client/platform-client.tgz
    tsh login --proxy=access.example.com:443 --user=alice

On Linux with glibc the package \`platform-ent\` has the same programs, with faster ciphers and without Node.js.
`;

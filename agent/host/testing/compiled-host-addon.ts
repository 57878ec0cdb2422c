import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compileOwnAddon } from "../../../scripts/build/compile-addon.ts";
import type { HostAddon } from "../host-addon.ts";

const root = resolve(import.meta.dirname, "../../..");

/** The addon, compiled for the Node that runs the tests. */
export async function compiledHostAddon(): Promise<HostAddon> {
  const folder = await mkdtemp(join(tmpdir(), "platform-addon-"));
  try {
    const target = { runtime: join(root, `node_modules/node-linux-${process.arch}`), gcc: "gcc" };
    const module = { exports: {} };
    process.dlopen(module, await compileOwnAddon({ root, target, name: "host.node", output: join(folder, "host.node") }));
    return module.exports as HostAddon;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

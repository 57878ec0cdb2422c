import { resolve } from "node:path";
import type { HostAddon } from "../../agent/host/host-addon.ts";
import { compileOnce } from "./compile-once.ts";

const folder = resolve(import.meta.dirname, "../../agent/host");
const sources = ["host-addon.c", "hand-over.c", "peer-state.c", "record-logout.c", "start-program.c", "session/utmp-record.c"];
const headers = resolve(process.execPath, "../../include/node");
let loaded: HostAddon | undefined;

/** In unit tests this file is in the place of host-addon.ts (vitest.config.ts). */
export function hostAddon(): HostAddon {
  loaded ??= load();
  return loaded;
}

/** Path of the addon. */
export function compiledHostAddon(): string {
  return compileOnce(folder, sources, ["-shared", "-fPIC", `-I${headers}`]);
}

function load(): HostAddon {
  const module = { exports: {} };
  process.dlopen(module, compiledHostAddon());
  return module.exports as HostAddon;
}

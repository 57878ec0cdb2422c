import type { Socket } from "node:net";
import { resolve } from "node:path";
import { descriptorOf } from "../../core/node-internals/descriptor-of.ts";
import { compileOnce } from "../world/compile-once.ts";

interface Deafen {
  deafen(fd: number): boolean;
}

const headers = resolve(process.execPath, "../../include/node");
let loaded: Deafen | undefined;

/** Makes one end of a connection a host that has vanished: no packet reaches it any more, and it acknowledges none. It needs no rights. */
export function deafen(socket: Socket): void {
  loaded ??= load();
  if (!loaded.deafen(descriptorOf(socket) ?? -1)) throw new Error("the kernel did not take the filter");
}

function load(): Deafen {
  const module = { exports: {} };
  process.dlopen(module, compileOnce(import.meta.dirname, ["deafen.c"], ["-shared", "-fPIC", `-I${headers}`]));
  return module.exports as Deafen;
}

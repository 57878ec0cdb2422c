import { arch } from "node:process";
import type { Machine } from "./machine.ts";

const library = `/usr/lib/${arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketimeMT.so.1`;

/**
 * Environment for `run` under which a program and its children (node, apt, curl, date) see the wall clock off by `offset`
 * (`+1d`, `-36h`); timers and file times stay right. There is no namespace for the wall clock: this is libfaketime, preloaded.
 */
export function clockEnv(offset: string): Record<string, string> {
  return { LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: "1", NO_FAKE_STAT: "1" };
}

/** The same for units, from their next start on; the offset "" sets them right again. */
export async function setClock(machine: Machine, units: readonly string[], offset: string): Promise<void> {
  const lines = offset === "" ? [] : Object.entries(clockEnv(offset)).map(([key, value]) => `Environment=${key}=${value}\n`);
  for (const unit of units) await machine.write(`/etc/systemd/system/${unit}.service.d/50-test-clock.conf`, `[Service]\n${lines.join("")}`);
  await machine.systemctl("daemon-reload");
}

import { mkdir, rm, writeFile } from "node:fs/promises";
import { output } from "./program.ts";

/** Hosts on one network, each in a network namespace of its own, that reach each other without any firewall. */
export interface Hub<Name extends string> extends AsyncDisposable {
  /** Name of its namespace, and its address. */
  readonly hosts: Readonly<Record<Name, { readonly netns: string; readonly address: string }>>;
}

/** `names`: further lines of every host's /etc/hosts, name and whose address it is. Needs root and iproute2. */
export async function openHub<Name extends string>(wanted: readonly Name[], names: readonly (readonly [string, Name])[]): Promise<Hub<Name>> {
  const tag = `ph${process.pid.toString(36)}${Math.floor(Math.random() * 1296).toString(36)}`;
  const net = 100 + Math.floor(Math.random() * 90);
  const ip = (...args: string[]): Promise<string> => output("ip", args);
  const hub = `${tag}h`;
  const all = wanted.map((name, index) => [name, { netns: `${tag}${index}`, address: `198.18.${net}.${index + 10}` }] as const);
  const hosts = Object.fromEntries(all) as Record<Name, { netns: string; address: string }>;
  const lines = [...all.map(([name, { address }]) => `${address} ${name}.test`), ...names.map(([name, of]) => `${hosts[of].address} ${name}`)];
  await ip("netns", "add", hub);
  await ip("-n", hub, "link", "add", "br0", "type", "bridge");
  await ip("-n", hub, "link", "set", "br0", "up");
  for (const [index, [, { netns, address }]] of all.entries()) {
    await mkdir(`/etc/netns/${netns}`, { recursive: true });
    await writeFile(`/etc/netns/${netns}/hosts`, `127.0.0.1 localhost\n${lines.join("\n")}\n`);
    await writeFile(`/etc/netns/${netns}/resolv.conf`, "");
    await ip("netns", "add", netns);
    await ip("-n", netns, "link", "set", "lo", "up");
    await ip("link", "add", "e0", "netns", netns, "type", "veth", "peer", "name", `p${index}`, "netns", hub);
    await ip("-n", hub, "link", "set", `p${index}`, "master", "br0", "up");
    await ip("-n", netns, "addr", "add", `${address}/24`, "dev", "e0");
    await ip("-n", netns, "link", "set", "e0", "up");
  }
  return {
    hosts,
    [Symbol.asyncDispose]: async () => {
      for (const name of [...all.map(([, { netns }]) => netns), hub]) {
        await ip("netns", "del", name).catch(() => {});
        await rm(`/etc/netns/${name}`, { recursive: true, force: true });
      }
    },
  };
}

import { output } from "./program.ts";

/** A machine's own network namespace, joined to this host by a veth pair. */
export interface MachineLink {
  readonly address: string;
  /** This host's end, and the machine's default gateway. */
  readonly gateway: string | undefined;
}

/** The link of a machine that is put into a namespace of the caller's. */
export async function wayInto(netns: string): Promise<MachineLink> {
  const devices = await output("ip", ["-n", netns, "-4", "-o", "addr", "show", "scope", "global"]);
  return { address: / inet ([0-9.]+)\//.exec(devices)?.[1] ?? "", gateway: undefined };
}

/** An address of this host that every machine reaches: for a control server that is there before them. */
export interface HostAddress extends AsyncDisposable {
  readonly address: string;
}

export async function openHostAddress(): Promise<HostAddress> {
  const [third, fourth] = [Math.floor(Math.random() * 256), 1 + Math.floor(Math.random() * 254)];
  const address = `100.95.${third}.${fourth}`;
  await output("ip", ["addr", "replace", `${address}/32`, "dev", "lo"]);
  return {
    address,
    [Symbol.asyncDispose]: async () => {
      await output("ip", ["addr", "del", `${address}/32`, "dev", "lo"]);
    },
  };
}

/**
 * Addresses are of 100.64.0.0/10 (RFC 6598), a /30 at random for each. By its default route the machine reaches every address
 * of this host, but nothing beyond it.
 */
export async function linkMachine(netns: string): Promise<MachineLink> {
  const ip = (...args: string[]): Promise<string> => output("ip", args);
  const block = Math.floor(Math.random() * 2 ** 18) * 4;
  const prefix = `100.${96 + (block >> 16)}.${(block >> 8) & 255}.`;
  const [gateway, address] = [`${prefix}${(block & 255) + 1}`, `${prefix}${(block & 255) + 2}`];
  await ip("netns", "add", netns);
  await ip("link", "add", netns, "type", "veth", "peer", "name", "eth0", "netns", netns);
  await ip("addr", "add", `${gateway}/30`, "dev", netns);
  await ip("link", "set", netns, "up");
  await ip("-n", netns, "addr", "add", `${address}/30`, "dev", "eth0");
  await ip("-n", netns, "link", "set", "lo", "up");
  await ip("-n", netns, "link", "set", "eth0", "up");
  await ip("-n", netns, "route", "add", "default", "via", gateway);
  return { address, gateway };
}

/** A wire of their own between two namespaces, of machines that else reach this host alone, say. The addresses that it gives them, in their order. */
export async function wire(one: string, other: string): Promise<[string, string]> {
  const block = Math.floor(Math.random() * 2 ** 14) * 4;
  const prefix = `100.94.${block >> 8}.`;
  const ends: [string, string] = [`${prefix}${(block & 255) + 1}`, `${prefix}${(block & 255) + 2}`];
  // Each end is named for the other: a namespace may have several.
  await output("ip", ["link", "add", other, "netns", one, "type", "veth", "peer", "name", one, "netns", other]);
  for (const [netns, device, address] of [
    [one, other, ends[0]],
    [other, one, ends[1]],
  ] as const) {
    await output("ip", ["-n", netns, "addr", "add", `${address}/30`, "dev", device]);
    await output("ip", ["-n", netns, "link", "set", device, "up"]);
  }
  return ends;
}

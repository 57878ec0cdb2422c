import { output } from "../program.ts";

/**
 * A network namespace for proxies, joined to this machine by a veth pair. Targets listen on `here`, so connections
 * through a proxy come from `there`, and direct ones from `here`.
 */
export interface ProxyNetwork extends AsyncDisposable {
  readonly netns: string;
  readonly here: string;
  readonly there: string;
}

/** One of the 63 that this machine does not have yet: files of tests run side by side. */
async function freeNetwork(): Promise<number> {
  const taken = await output("ip", ["-o", "-4", "addr", "show"]);
  const all = Array.from({ length: 63 }, (_, at) => (process.pid + at) % 63);
  const free = all.find((at) => !taken.includes(` 198.51.100.${at * 4 + 1}/`));
  if (free === undefined) throw new Error("all networks of 198.51.100.0/24 are taken");
  return free;
}

/** Needs root and iproute2. Addresses are of TEST-NET-2 (RFC 5737), which no real network has. */
export async function openProxyNetwork(): Promise<ProxyNetwork> {
  const tag = `hp${process.pid.toString(36)}`;
  const first = (await freeNetwork()) * 4;
  const [here, there] = [`198.51.100.${first + 1}`, `198.51.100.${first + 2}`];
  const ip = (...args: string[]): Promise<string> => output("ip", args);
  const close = async (): Promise<void> => {
    // The peer in this namespace goes with it.
    await ip("netns", "del", tag).catch(() => {});
    await ip("link", "del", `${tag}h`).catch(() => {});
  };
  try {
    await ip("netns", "add", tag);
    await ip("link", "add", `${tag}h`, "type", "veth", "peer", "name", "eth0", "netns", tag);
    await ip("addr", "add", `${here}/30`, "dev", `${tag}h`);
    await ip("link", "set", `${tag}h`, "up");
    await ip("-n", tag, "addr", "add", `${there}/30`, "dev", "eth0");
    await ip("-n", tag, "link", "set", "lo", "up");
    await ip("-n", tag, "link", "set", "eth0", "up");
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return { netns: tag, here, there, [Symbol.asyncDispose]: close };
}

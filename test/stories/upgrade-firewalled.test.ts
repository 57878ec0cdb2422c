import { beforeEach, expect, test } from "vitest";
import { eachOf } from "../world/each-of.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { openNetwork } from "../world/network.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import type { UpgradeHost } from "../world/upgrade-host.ts";
import { openUpgradeSite } from "../world/upgrade-site.ts";

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

/** Prints what it finds, and goes on until it is stopped. */
const watchCommandLines = `while sleep 0.05; do
  for file in /proc/[0-9]*/cmdline; do if grep -aqF -f /run/patterns "$file"; then tr '\\0' ' ' <"$file"; echo; fi; done
done 2>/dev/null`;

/** Does the work while the command lines of all processes, which every user of the host can read, are searched for the secrets. */
async function whileWatched<T>(host: UpgradeHost, secrets: readonly string[], work: () => Promise<T>): Promise<T> {
  await host.machine.write("/run/patterns", `${secrets.join("\n")}\n`, 0o600);
  const watcher = host.machine.service(["sh", "-c", watchCommandLines]);
  try {
    const done = await work();
    expect({ over: watcher.exited, found: watcher.printed() }).toEqual({ over: false, found: "" });
    const seen = host.machine.service(["sh", "-c", "sleep 60; exit", secrets[0] ?? ""]);
    await expect.poll(() => watcher.printed(), { timeout: 10_000, message: "the watcher sees" }).toContain(secrets[0]);
    await seen.stop();
    return done;
  } finally {
    await watcher.stop();
    await host.machine.output(["rm", "/run/patterns"]);
  }
}

/** Files of the host that hold a secret, but for the one that the admin has written; and whether its logs do. */
async function leaks({ machine }: UpgradeHost, secrets: readonly string[]): Promise<string> {
  const input = `${secrets.join("\n")}\n`;
  const places = ["/etc", "/var", "/run", "/tmp", "/root", "/home", "/opt"];
  const files = await machine.run(["grep", "--recursive", "--text", "-F", "-l", "-f", "-", "-D", "skip", ...places], { input });
  const logs = await machine.run(["sh", "-c", "cat >/dev/shm/p; journalctl --no-pager -a -o export | grep -a -F -f /dev/shm/p; rm /dev/shm/p"], {
    input,
  });
  return files.stdout.replace("/etc/default/platform\n", "") + logs.stdout;
}

test("behind squid with a password, on hosts that reach nothing else: installed, enrolled, upgraded, and the password stays where it is", {
  timeout: 600_000,
}, async () => {
  await using network = await openNetwork();
  await using site = await openUpgradeSite({ place: { netns: network.control, address: network.controlAddress } });
  await using squid = await startSquid({ address: network.proxyAddress, netns: network.proxy });
  const written = /:([^:@/]+)@/.exec(squid.httpUrl)?.[1] ?? "";
  const basic = Buffer.from(`agent:${decodeURIComponent(written)}`).toString("base64");
  const secrets = [written, decodeURIComponent(written), basic];
  const defaults = `HTTPS_PROXY=${squid.httpUrl}\nNO_PROXY=localhost\n`;
  await using stack = new AsyncDisposableStack();
  const hosts = await site.hosts((["apt", "dnf", "zypper"] as const).map((manager) => ({ manager, netns: network.agent, defaults })));
  for (const host of hosts) stack.use(host);

  await eachOf(hosts, async (host) => {
    await host.follow("critical/next");
    await whileWatched(host, secrets, async () => {
      const dry = await host.upgrade("dry-run");
      expect(dry.stdout).toContain(`an upgrade is available (${versions.now} -> ${versions.next})`);
      expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
      await host.connected(versions.next);
    });
    await host.reported("upgraded");
    expect(await leaks(host, secrets)).toBe("");
    expect(await host.machine.output(["stat", "--format=%a", "/etc/default/platform"])).toBe("600\n");
  });
  const asked = await squid.accessLog();
  expect(asked.split("\n").filter((line) => line.includes(`CONNECT ${site.cluster.proxy}`)).length).toBeGreaterThan(9);

  expect(await network.dropped(), "nobody has tried another way").toBe(0);
  const [host] = hosts;
  expect((await host?.machine.run(["curl", "-sS", "--max-time", "2", `https://${site.cluster.proxy}/`]))?.stderr).toContain("curl: (28)");
  expect(await network.dropped(), "the firewall counts").toBeGreaterThan(0);

  // A password that is changed at the proxy: said, without telling it.
  await host?.machine.write("/etc/default/platform", defaults.replace("agent:", "agent:no-"), 0o600);
  const refused = await host?.upgrade("run");
  expect(refused).toMatchObject({ status: 1, stdout: expect.stringMatching(/^reason=endpoint_unreachable .*407/m) });
  for (const secret of secrets) expect(`${refused?.stdout}${refused?.stderr}`).not.toContain(secret);
});

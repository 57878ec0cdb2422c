import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { startCluster } from "../world/cluster.ts";
import { makeCertificate } from "../world/http-proxy/make-certificate.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { startMachine } from "../world/machine.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { openNetwork } from "../world/network.ts";
import { packagedVersions, packageWorld } from "../world/package-world.ts";

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

test.for(["apt", "dnf", "zypper"] as const)(
  "%s: from the cluster's own proxy, through squid with a password, by a host that reaches nothing else",
  { timeout: 600_000 },
  async (manager) => {
    const world = await packageWorld();
    const dir = await mkdtemp(join(tmpdir(), "platform-firewalled-"));
    const certificate = await makeCertificate(dir, ["control.test"]);
    await using network = await openNetwork();
    const { control, proxy, agent: netns, controlAddress, proxyAddress } = network;
    const proxyService = `  packages_dir: ${world.repository}\n`;
    await using cluster = await startCluster({ netns: control, address: controlAddress, name: "control.test", keypair: certificate, proxyService });
    await using squid = await startSquid({ address: proxyAddress, netns: proxy });
    await using machine = await startMachine({ manager, netns, hosts: { "control.test": controlAddress }, ca: [certificate.caPem] });

    const install = `curl -fsS https://${cluster.proxy}/scripts/install.sh | sh -s -- ${packagedVersions.now} enterprise`;
    const direct = await machine.run(["sh", "-c", install.replace("-fsS", "-fsS --max-time 2")]);
    expect(direct.stderr).toContain("curl: (28)");
    const env = { HTTPS_PROXY: squid.httpUrl, NO_PROXY: "localhost" };
    const wrong = await machine.run(["sh", "-c", install.replace("| sh", "| HTTPS_PROXY=$WRONG sh")], {
      env: { ...env, WRONG: squid.httpUrl.replace("agent:", "agent:x") },
    });
    expect({ status: wrong.status, said: wrong.stderr }).toEqual({ status: 9, said: expect.stringContaining("407") });
    const done = await machine.run(["sh", "-c", install], { env });
    expect({ status: done.status, said: done.stderr }).toEqual({ status: 0, said: expect.stringContaining("are installed") });
    expect(done.stderr).toContain("put HTTPS_PROXY=... into /etc/default/platform");
    expect(await machine.output(["platform", "version"])).toContain(packagedVersions.now);
    expect(await machine.read("/etc/platform-upgrade.d/endpoint")).toBe(`${cluster.proxy}/v1/webapi/automaticupgrades/channel/default\n`);

    const secret = /:([^:@/]+)@/.exec(squid.httpUrl)?.[1] ?? "";
    for (const text of [secret, decodeURIComponent(secret)]) {
      expect(wrong.stderr + done.stdout + done.stderr).not.toContain(text);
      expect(
        (await machine.run(["grep", "--recursive", "--fixed-strings", "--files-with-matches", text, "/etc", "/var", "/tmp", "/root"])).stdout,
      ).toBe("");
    }
    await rm(dir, { recursive: true });
  },
);

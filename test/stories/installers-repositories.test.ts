import { describe, expect, test } from "vitest";
import { openHostileRepository, type Served } from "../world/hostile-repository.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { installedHost } from "../world/installed-host.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { rows } from "../world/rounds.ts";

/** The updater's installers on real apt, dnf, yum and zypper, with our packages in a repository that is not always well. */

const repository = machineFixture(openHostileRepository);

describe.each(rows<MachineManager>(["apt", "dnf", "yum", "zypper"], ["apt", "dnf", "zypper"]))("%s:", (manager) => {
  // yum is dnf by another name: what takes long is tried with one of them.
  const onceForDnf = test.skipIf(manager === "yum");
  const host = installedHost(manager, repository);

  onceForDnf.for<[Served, string]>([
    ["tampered", "signature_wrong"],
    ["wrong_key", "signature_wrong"],
    ["gone", "repository_unreachable"],
    ["portal", "repository_unreachable"],
    ...(manager === "apt" ? ([["expired", "signature_wrong"]] as const).map(([a, b]): [Served, string] => [a, b]) : []),
  ])("an index that is %s is refused with %s", async ([served, reason]) => {
    await host().use(served);
    const { reason: found, message } = await host().call("refresh");
    expect(`${found} ${message}`).toMatch(new RegExp(`^${reason} `));
  });

  test("an unreachable repository is distinguished", async () => {
    await host().use("good", `http://${repository().address}:1`);
    expect(await host().reason("refresh")).toBe("repository_unreachable");
    await host().use("good", "http://nowhere.invalid");
    expect(await host().reason("refresh")).toBe("repository_unreachable");
  });

  onceForDnf.for<[Served, string]>([
    ["bad_package", "signature_wrong"],
    ["no_package", "package_missing"],
    // apt's packages are signed by its index alone.
    ...(manager === "apt" ? [] : [["unsigned_package", "signature_wrong"] satisfies [Served, string]]),
  ])("with a repository of %s nothing is installed: %s; a kept package still is", async ([served, reason]) => {
    await host().value("keep", "platform-ent", "1.0.0");
    await host().value("install", "platform-ent", "1.1.0");
    await host().use(served);
    await host().value("refresh");
    expect(await host().reason("install", "platform-ent", "1.2.0-rc.1")).toBe(reason);
    expect(await host().onDisk()).toBe("1.1.0");
    await host().value("downgrade", "platform-ent", "1.0.0");
    expect([await host().value("installed"), await host().onDisk()]).toEqual(["1.0.0", "1.0.0"]);
  });

  onceForDnf("a proxy with a password reaches the package manager, but not its command line; NO_PROXY is ours to decide", async () => {
    const password = "p@ss:w%rd";
    await using proxy = await startSquid({ address: repository().address, user: "agent", password });
    const env = { HTTPS_PROXY: proxy.httpUrl };
    const direct = await host().call("refresh", [], { ...env, NO_PROXY: `${repository().address}/32` });
    expect([direct.reason, await proxy.accessLog()]).toEqual([undefined, ""]);
    for (const [method, ...args] of [["refresh"], ["install", "platform-ent", "1.1.0"]] as const) {
      const through = await host().call(method, args, env);
      expect(through.message).toBeUndefined();
      expect(through.log).not.toContain("w%25rd");
    }
    expect(await host().onDisk()).toBe("1.1.0");
    expect(await proxy.accessLog()).toMatch(/\.(deb|rpm) agent /);
    const wrong = await host().call("refresh", [], { HTTPS_PROXY: proxy.httpUrl.replace("agent:", "stranger:") });
    expect(wrong.reason).toBe("repository_unreachable");
  });
});

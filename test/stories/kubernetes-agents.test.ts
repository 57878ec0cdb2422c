import { once } from "node:events";
import { readdir, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { beginKube } from "../world/kubernetes/kube-client.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { type KubeWorld, kubeWorld } from "../world/kubernetes/kube-world.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { rounds } from "../world/rounds.ts";
import { until } from "../world/until.ts";

const opened = await ifPossible(() => kubeWorld());
const reason = opened instanceof NotHere ? ` (skipped: ${opened.message})` : "";

describe.skipIf(opened instanceof NotHere)(`many clients, and several agents of one cluster${reason}`, () => {
  const world = opened as KubeWorld;
  let platform: KubePlatform;
  let user: KubeUser;

  beforeAll(async () => {
    platform = await KubePlatform.open(world);
    await platform.agent();
    user = await platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
    await until("both agents offer it", async () => (await hosts()).length === 2);
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  const hosts = async (): Promise<readonly string[]> => {
    const [only] = JSON.parse((await user.user.tsh(["kube", "ls", "--format=json"])).stdout) as { hosts?: string[] }[];
    return only?.hosts ?? [];
  };
  const namespaces = () => user.kubectl("1.36", ["get", "ns", "default", "-o", "name"]);

  test("many kubectl at once without a valid certificate: one renews it, all succeed", async () => {
    const count = rounds(40, 20);
    const folder = join(user.user.home);
    const stored = (await readdir(folder, { recursive: true })).filter((name) => /kube\/[^/]*\.pem$/.test(name));
    expect(stored).not.toEqual([]);
    for (const name of stored) await rm(join(folder, name));
    const issued = async (): Promise<number> => (await auditEvents(platform.cluster, "cert.create")).length;
    const before = await issued();
    const all = await Promise.all(Array.from({ length: count }, namespaces));
    expect(all.map(({ status, stderr }) => `${status}${stderr}`)).toEqual(Array.from({ length: count }, () => "0"));
    expect((await issued()) - before).toBe(1);
  });

  test("an agent that is killed: the next request is answered by the other, and a watch can begin again", async () => {
    const entrance = await user.entrance();
    const watching = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const begun = await beginKube(entrance, "/api/v1/namespaces?watch=1", { headers: { accept: "application/json" } });
        begun.end();
        const [response] = (await once(begun, "response")) as [IncomingMessage];
        response.on("error", () => {});
        response.resume();
        return response;
      }),
    );
    const turns = rounds(10, 2);
    for (let turn = 0; turn < turns; turn += 1) {
      const agent = platform.agents[turn % 2] ?? expect.fail("no agent");
      await agent.service.kill();
      const from = performance.now();
      expect(await namespaces()).toMatchObject({ status: 0 });
      // A kubectl is some 200 ms of it.
      expect(performance.now() - from).toBeLessThan(3_000);
      agent.start();
      await until("both offer it again", async () => (await hosts()).length === 2);
    }
    expect(watching.every(({ closed }) => closed)).toBe(true);
  });

  test("agents that say other labels of one cluster are both named", async () => {
    const file = join(user.user.home, "other");
    await writeFile(file, "");
    const other = await platform.agent({ labels: "env: prod" });
    const found = await until("somebody says so", async () => {
      const printed = other.service.printed() + platform.cluster.control.printed();
      const status = (await platform.cluster.tctl(["status"])).stdout;
      return /kube-1|kube-2|kube-3/.test(printed + status) && /label/i.test(printed + status);
    });
    expect(found).toBe(true);
    expect(await namespaces()).toMatchObject({ status: 0 });
    await other.service.kill();
  });

  test("a removed role ends a watch within seconds, and the next request is refused", async () => {
    const bob = await platform.user("bob", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
    const begun = await beginKube(await bob.entrance(), "/api/v1/namespaces?watch=1", { headers: { accept: "application/json" } });
    begun.end();
    const [response] = (await once(begun, "response")) as [IncomingMessage];
    response.on("error", () => {});
    response.resume();
    const ended = once(response, "close");
    const from = performance.now();
    await platform.cluster.admin("users", "update", "bob", "--set-roles=access");
    await ended;
    expect(performance.now() - from).toBeLessThan(10_000);
    expect((await bob.kubectl("1.32", ["get", "ns"])).status).toBe(1);
  });
});

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ControlFacts, proxyConfig } from "./cluster-config.ts";
import type { ClusterControl } from "./cluster-control.ts";
import { freePorts } from "./free-port.ts";
import { run } from "./program.ts";
import { type Service, startService } from "./service.ts";
import { until } from "./until.ts";

export interface ProxyOptions {
  readonly name: string;
  /** `host:port` by which it is announced; default: where it listens; empty: none is configured. */
  readonly publicAddr?: string;
  /** More lines of `proxy_service`, indented by two. */
  readonly proxyService?: string;
}

/** A proxy service of its own process and folder, beside the cluster's first one. */
export interface ProxyProcess {
  readonly name: string;
  /** `host:port` where its web address listens. */
  readonly address: string;
  readonly port: number;
  service: Service;
  start(): void;
  answers(): Promise<void>;
  /** Its id in the cluster. */
  id(): Promise<string>;
}

type Facts = ControlFacts & ProxyOptions & { readonly platform: string; readonly netns?: string | undefined };

export async function makeProxy(cluster: ClusterControl, facts: Facts): Promise<ProxyProcess> {
  const { name, dir, platform, netns } = facts;
  const [web = 0] = await freePorts(1);
  const config = join(dir, `${name}.yaml`);
  const trust = { token: await cluster.token("--type=proxy"), pin: await cluster.pin() };
  const own = { ...facts, name: facts.address, ports: { ...facts.ports, web }, proxy: name, more: facts.proxyService ?? "" };
  await writeFile(config, proxyConfig(own, trust), { mode: 0o600 });
  const begin = (): Service => startService(platform, ["start", "--config", config, "--pid-file", join(dir, `${name}.pid`)], { netns });
  const address = `${facts.address}:${web}`;
  const made: ProxyProcess = {
    name,
    address,
    port: web,
    service: begin(),
    start: () => {
      made.service = begin();
    },
    answers: async () => {
      await until(`proxy ${name} answers on ${address}`, async () => {
        if (made.service.exited) throw new Error(made.service.printed());
        return (await run("curl", ["-ksf", "--max-time", "2", `https://${address}/webapi/ping`], { netns })).status === 0;
      });
    },
    id: async () => {
      const { proxies } = JSON.parse(await cluster.admin("status", "--format=json")) as { proxies: { id: string; name: string }[] };
      return proxies.find((proxy) => proxy.name === name)?.id ?? "";
    },
  };
  return made;
}

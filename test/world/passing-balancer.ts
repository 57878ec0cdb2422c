import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "./free-port.ts";
import { hasProgram } from "./has-program.ts";
import { NotHere } from "./not-here.ts";
import { startService } from "./service.ts";
import { until } from "./until.ts";

/** Balancers that pass TCP on and say in a header of the PROXY protocol for whom. */
export const passingBalancers = ["haproxy send-proxy", "haproxy send-proxy-v2", "nginx proxy_protocol"] as const;
type Kind = (typeof passingBalancers)[number];

const streamModule = "/usr/lib/nginx/modules/ngx_stream_module.so";
const noHaproxy = hasProgram("haproxy") ? undefined : new NotHere("haproxy is not installed");
const noStream = hasProgram("nginx") && existsSync(streamModule) ? undefined : new NotHere("nginx has no stream module (libnginx-mod-stream)");

/** Why this machine cannot have such a balancer; undefined: it can. */
export function lackOf(kind: Kind): NotHere | undefined {
  return kind === "nginx proxy_protocol" ? noStream : noHaproxy;
}

export interface PassingBalancer<Name extends string> extends AsyncDisposable {
  /** Its own ports on 127.0.0.1, each for one of the proxy's. */
  readonly ports: Readonly<Record<Name, number>>;
}

export interface PassingBalancerOptions<Name extends string> {
  readonly kind: Kind;
  /** Address from which it connects to the proxy. */
  readonly from: string;
  /** The proxy's ports on 127.0.0.1. */
  readonly to: Readonly<Record<Name, number>>;
}

/** The real HAProxy, or the real nginx. */
export async function startPassingBalancer<Name extends string>({ kind, from, to }: PassingBalancerOptions<Name>): Promise<PassingBalancer<Name>> {
  const dir = await mkdtemp(join(tmpdir(), "platform-balancer-"));
  const names = Object.keys(to) as Name[];
  const own = await freePorts(names.length);
  const ports = Object.fromEntries(names.map((name, index) => [name, own[index] ?? 0])) as Record<Name, number>;
  const passed = names.map((name): Passed => ({ name, port: ports[name], to: to[name] }));
  const config = join(dir, "config");
  const isNginx = kind === "nginx proxy_protocol";
  await writeFile(config, isNginx ? nginxConfig(dir, from, passed) : haproxyConfig(kind.replace("haproxy ", ""), from, passed));
  const balancer = isNginx
    ? startService("nginx", ["-e", join(dir, "error.log"), "-c", config, "-p", dir])
    : startService("haproxy", ["-db", "-f", config]);
  const stop = async (): Promise<void> => {
    await balancer.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    for (const { port } of passed) {
      await until(`${kind} listens`, async () => {
        if (balancer.exited) throw new Error(`${kind} did not start: ${balancer.printed()}`);
        return await accepts(port);
      });
    }
    return { ports, [Symbol.asyncDispose]: stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

interface Passed {
  readonly name: string;
  readonly port: number;
  readonly to: number;
}

function haproxyConfig(header: string, from: string, passed: readonly Passed[]): string {
  const parts = passed.map(
    ({ name, port, to }) => `listen ${name}\n  bind 127.0.0.1:${port}\n  server proxy 127.0.0.1:${to} source ${from} ${header}\n`,
  );
  return `global
  nbthread 1
  maxconn 200
defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
${parts.join("")}`;
}

function nginxConfig(dir: string, from: string, passed: readonly Passed[]): string {
  const servers = passed.map(
    ({ port, to }) => `  server { listen 127.0.0.1:${port}; proxy_pass 127.0.0.1:${to}; proxy_bind ${from}; proxy_protocol on; }\n`,
  );
  return `load_module ${streamModule};
user root;
daemon off;
worker_processes 1;
pid ${join(dir, "nginx.pid")};
events { worker_connections 256; }
stream {
${servers.join("")}}
`;
}

async function accepts(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port }, () => resolve(true));
    socket.on("connect", () => socket.destroy()).on("error", () => resolve(false));
  });
}

import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { v8Options } from "../scripts/build/v8-options.ts";
import { freePorts } from "../test/world/free-port.ts";
import { output, run } from "../test/world/program.ts";
import { type Service, startService } from "../test/world/service.ts";
import { until } from "../test/world/until.ts";
import { bareNode, cpuSeconds, figure, interleave, ratio, spread } from "./measure.ts";

const path = (channel: string): string => `/v1/webapi/automaticupgrades/channel/${channel}/version`;
const connections = 32;
const seconds = 5;

/** Our version endpoint beside nginx, which serves the same answer from a file: keep-alive over TLS, driven by wrk. */
export async function versionServer(rounds: number): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "platform-versions-"));
  const [cert, key] = [join(dir, "cert.pem"), join(dir, "key.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  await output("openssl", ["req", "-x509", ...kind, "-keyout", key, "-out", cert, ...subject]);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const nginx = stack.use(await startNginx(dir, { cert, key }));
  const upstream = await startUpstream();
  stack.defer(() => void upstream.close());
  const ours = stack.use(await startOurs(dir, { cert, key, upstream }));
  const p99: Record<string, number[]> = {};
  const cpu: Record<string, number[]> = {};
  const measured = async (name: string, { port, pid }: Measured, channel: string): Promise<number> => {
    const before = await cpuSeconds(pid);
    const load = await wrk(port, path(channel));
    cpu[name] = [...(cpu[name] ?? []), (((await cpuSeconds(pid)) - before) / load.requests) * 1e6];
    p99[name] = [...(p99[name] ?? []), load.p99];
    return load.perSecond;
  };
  const speed = await interleave(rounds, {
    nginx: () => measured("nginx", nginx, "default"),
    ours: () => measured("ours", ours, "default"),
    "ours, upstream hangs": () => measured("ours, upstream hangs", ours, "forwarded"),
  });
  const names = Object.keys(speed) as (keyof typeof speed)[];
  const row = (name: keyof typeof speed): string => {
    const { min, median, max } = spread(speed[name]);
    const late = spread(p99[name] ?? []);
    const columns = [figure(median, 0), `${figure(min, 0)}–${figure(max, 0)}`, figure(late.median), `${figure(late.min)}–${figure(late.max)}`];
    return `| ${name} | ${columns.join(" | ")} | ${figure(spread(cpu[name] ?? []).median, 1)} |`;
  };
  const [plain, hung] = [ratio(speed.ours, speed.nginx), ratio(speed["ours, upstream hangs"], speed.nginx)];
  const byCpu = ratio(cpu.nginx ?? [], cpu.ours ?? []).median;
  return `## Version server

\`GET …/channel/<name>/version\`, TLS 1.3 with keep-alive, \`wrk\` with 1 thread and ${connections} connections, ${seconds} s a run, ${rounds} interleaved rounds,
loopback; beside nginx with one worker that serves a file of the same bytes under the same path; both end a connection after 1,000 requests. Ours is the proxy with its front door and
its limit for each client, run from source with the executable's V8 settings; the limit's numbers are raised, since wrk is one client.
"upstream hangs": a channel that forwards to a server which took the connection and says nothing; the last good answer is
served with its age.

| server | requests/s, median | range | p99 ms, median | range | CPU µs a request |
|---|---|---|---|---|---|
${names.map(row).join("\n")}

Ratio, round by round: **${figure(plain.median)} ×** (${figure(plain.min)}–${figure(plain.max)}), with the upstream hanging **${figure(hung.median)} ×** (${figure(hung.min)}–${figure(hung.max)}).
By processor time alone: ${figure(byCpu)} ×.
`;
}

interface Measured {
  readonly port: number;
  readonly pid: number;
}

interface Files {
  readonly cert: string;
  readonly key: string;
}

async function startNginx(dir: string, { cert, key }: Files): Promise<Measured & AsyncDisposable> {
  const [port] = (await freePorts(1)) as [number];
  const root = join(dir, "www");
  await mkdir(join(root, path("default"), ".."), { recursive: true });
  await writeFile(join(root, path("default")), "v1.2.3");
  // The worker is another user.
  await chmod(dir, 0o755);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${join(dir, name)};`).join(" ");
  const config = `worker_processes 1; daemon off; pid ${join(dir, "nginx.pid")}; error_log stderr;
events { worker_connections 1024; }
http {
  access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000; open_file_cache max=10 inactive=60s; ${temporary}
  server { listen 127.0.0.1:${port} ssl; ssl_certificate ${cert}; ssl_certificate_key ${key}; ssl_protocols TLSv1.3; default_type text/plain; root ${root}; }
}
`;
  await writeFile(join(dir, "nginx.conf"), config);
  const service = startService("nginx", ["-p", dir, "-c", join(dir, "nginx.conf")], { env: { PATH: `${process.env.PATH ?? ""}:/usr/sbin` } });
  await answers(port, "default", service);
  const worker = Number((await output("pgrep", ["-P", String(service.pid)])).trim());
  return { port, pid: worker, [Symbol.asyncDispose]: service.stop };
}

interface UpstreamServer {
  readonly url: string;
  /** From now on it accepts connections and stays silent. */
  hang(): void;
  close(): void;
}

async function startUpstream(): Promise<UpstreamServer> {
  let hangs = false;
  const server: Server = createServer((request, response) => {
    if (!hangs) response.end(request.url?.endsWith("/critical") ? "no" : "v1.2.3");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hang: () => {
      hangs = true;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Asks the upstream once while it answers; then a second process runs on what that one had kept. */
async function startOurs(dir: string, { cert, key, upstream }: Files & { upstream: UpstreamServer }): Promise<Measured & AsyncDisposable> {
  const script = resolve(import.meta.dirname, "version-server-end.ts");
  const begin = async (): Promise<{ service: Service; port: number }> => {
    const args = [...v8Options, "--disable-warning=ExperimentalWarning", script, join(dir, "data"), upstream.url, cert, key];
    const service = startService(bareNode, args);
    const port = Number(await until("our proxy listens", () => /ready (\d+)/.exec(service.printed())?.[1]));
    return { service, port };
  };
  const first = await begin();
  await answers(first.port, "forwarded", first.service);
  await first.service.stop();
  upstream.hang();
  const { service, port } = await begin();
  await until("the last good answer is served", async () => /^platform-upgrade-stale: \d+/im.test(await headersOf(port, "forwarded")));
  return { port, pid: service.pid, [Symbol.asyncDispose]: service.stop };
}

async function headersOf(port: number, channel: string): Promise<string> {
  return (await run("curl", ["-sk", "--http1.1", "-D", "-", `https://127.0.0.1:${port}${path(channel)}`])).stdout;
}

async function answers(port: number, channel: string, service: Service): Promise<void> {
  await until("the server answers", async () => {
    if (service.exited) throw new Error(service.printed());
    return (await headersOf(port, channel)).endsWith("v1.2.3");
  });
}

/** Every answer must be a 200. */
async function wrk(port: number, where: string): Promise<{ perSecond: number; requests: number; p99: number }> {
  const url = `https://127.0.0.1:${port}${where}`;
  const text = await output("wrk", ["-t1", `-c${connections}`, `-d${seconds}s`, "--latency", url]);
  if (/Non-2xx/.test(text)) throw new Error(text);
  const read = (pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
  const late = /99%\s+([\d.]+)(us|ms|s)/.exec(text);
  const unit = { us: 0.001, ms: 1, s: 1000 }[late?.[2] ?? ""] ?? Number.NaN;
  return { perSecond: read(/Requests\/sec:\s+([\d.]+)/), requests: read(/(\d+) requests in/), p99: Number(late?.[1]) * unit };
}

import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Agent } from "undici";
import { echoUpgrade } from "../agent/app/testing/web-upstream.ts";
import { openAppBrowser } from "../test/world/app-browser.ts";
import { ask, type Visitor } from "../test/world/app-client.ts";
import type { Cluster } from "../test/world/cluster.ts";
import { freePorts } from "../test/world/free-port.ts";
import { makeCertificate } from "../test/world/http-proxy/make-certificate.ts";
import { output } from "../test/world/program.ts";
import { putRole } from "../test/world/put-role.ts";
import { startService } from "../test/world/service.ts";
import { until } from "../test/world/until.ts";
import { sshLogin } from "./openssh.ts";
import { startSideBySide } from "./side-by-side.ts";

/** A way to the same two applications. */
export interface WebWay {
  /** `host:port` of the application of requests and downloads, and of the one that echoes WebSockets and takes uploads. */
  readonly web: string;
  readonly echo: string;
  /** Its connections, this many at most. */
  readonly dispatcher: (connections: number) => Agent;
  readonly cookies: { readonly web: string; readonly echo: string };
  /** Processes on the way, with all that they have started. */
  readonly pids: readonly number[];
}

/** An application behind us and behind nginx with `ssh -R`, both with TLS for the client. */
export interface WebWorld extends AsyncDisposable {
  readonly ours: WebWay;
  readonly theirs: WebWay;
}

/** Of the client, for TCP and TLS; its own limit of 10 s is too short for hundreds on a busy machine. */
const connectMs = 60_000;

/** Path of a response of so many MB; all other responses are short. */
export const largePath = "/large";
export const largeMegabytes = 100;

/** Needs nginx. */
export async function startWebWorld(): Promise<WebWorld> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await startSideBySide({ proxyService: "  apps_domain: apps.test\n" }));
  const { cluster } = world;
  const [webPort = 0, reverseWeb = 0, reverseEcho = 0, tlsWeb = 0, tlsEcho = 0] = await freePorts(5);
  const echoPort = await startEchoes(stack);
  const certificate = await makeCertificate(world.dir, ["127.0.0.1"]);
  const config = join(world.dir, "nginx.conf");
  await chmod(world.dir, 0o755);
  await writeFile(join(world.dir, "large"), Buffer.alloc(largeMegabytes * 1_000_000, "x"));
  const tls = `ssl_certificate ${certificate.certFile}; ssl_certificate_key ${certificate.keyFile};`;
  await writeFile(config, nginxConfig(world.dir, { webPort, tls, behind: { [tlsWeb]: reverseWeb, [tlsEcho]: reverseEcho } }));
  const nginx = startService("nginx", ["-e", join(world.dir, "nginx.log"), "-c", config, "-p", world.dir]);
  stack.defer(() => nginx.stop());
  const reverse = reverseTunnels({ [reverseWeb]: webPort, [reverseEcho]: echoPort });
  const ssh = startService("ssh", [...world.jump.options, "-p", String(world.jump.port), ...reverse, "-N", `${sshLogin}@127.0.0.1`]);
  stack.defer(() => ssh.stop());
  const theirs: WebWay = {
    ...{ web: `127.0.0.1:${tlsWeb}`, echo: `127.0.0.1:${tlsEcho}` },
    dispatcher: (connections) => new Agent({ connections, connect: { ca: certificate.caPem, timeout: connectMs } }),
    cookies: { web: "", echo: "" },
    pids: [nginx.pid, ssh.pid, world.jump.pid],
  };
  await until("nginx reaches the application", async () => (await output("curl", ["-ksf", `https://${theirs.web}/`])) !== "");
  const ours = await offer(cluster, { web: webPort, echo: echoPort });
  const owned = stack.move();
  return { ours, theirs, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** In a browser that is signed in. */
async function offer(cluster: Cluster, ports: { readonly web: number; readonly echo: number }): Promise<WebWay> {
  await putRole(cluster, "web", { allow: { app_labels: { "*": "*" } } });
  const entry = (name: string, port: number): string => `    - { name: ${name}, uri: "http://127.0.0.1:${port}" }\n`;
  const services = `app_service:\n  enabled: yes\n  apps:\n${entry("web", ports.web)}${entry("echo", ports.echo)}`;
  const agent = await cluster.agent({ name: "apps-1", token: await cluster.token("--type=app"), services, noWait: true });
  const user = await cluster.user("visitor", { roles: "web", noLogin: true });
  const ca = await cluster.admin("auth", "export", "--type=tls-host");
  const browser = await openAppBrowser({ address: "127.0.0.1", port: cluster.ports.web, host: "127.0.0.1", ca }, user);
  const open = (name: string): Promise<Visitor> => until(`the agent offers ${name}`, async () => await browser.open(`${name}.apps.test`));
  const [web, echo] = [await open("web"), await open("echo")];
  await until("it is served", async () => (await ask(web)).status === 200);
  const lookup = (_host: string, _options: object, done: (error: null, found: { address: string; family: number }[]) => void): void =>
    done(null, [{ address: "127.0.0.1", family: 4 }]);
  return {
    ...{ web: `${web.host}:${web.port}`, echo: `${echo.host}:${echo.port}` },
    dispatcher: (connections) => new Agent({ connections, connect: { ca, lookup: lookup as never, timeout: connectMs } }),
    cookies: { web: web.cookie ?? "", echo: echo.cookie ?? "" },
    pids: [cluster.control.pid, agent.service.pid],
  };
}

/** Echoes WebSockets, and answers an upload with its number of bytes. */
async function startEchoes(stack: AsyncDisposableStack): Promise<number> {
  const server = createServer((request, response) => {
    let bytes = 0;
    request.on("data", (chunk: Buffer) => (bytes += chunk.length)).on("end", () => response.end(String(bytes)));
  });
  server.on("upgrade", echoUpgrade);
  await once(server.listen(0, "127.0.0.1"), "listening");
  stack.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Options with which ssh carries connections to ports of the jump host back to ports of this one. */
function reverseTunnels(ports: Readonly<Record<number, number>>): readonly string[] {
  return Object.entries(ports).flatMap(([there, here]) => ["-R", `127.0.0.1:${there}:127.0.0.1:${here}`]);
}

interface NginxFacts {
  readonly webPort: number;
  /** Directives of the certificate. */
  readonly tls: string;
  /** Port with TLS → port to which ssh listens. */
  readonly behind: Readonly<Record<number, number>>;
}

/** The application, and the reverse proxy with TLS in front of ssh. */
function nginxConfig(dir: string, { webPort, tls, behind }: NginxFacts): string {
  const fronts = Object.entries(behind).map(
    ([port, to]) => `  upstream u${to} { server 127.0.0.1:${to}; keepalive 64; }
  server {
    listen 127.0.0.1:${port} ssl;
    ${tls}
    keepalive_requests 10000000;
    client_max_body_size 0;
    location / {
      proxy_pass http://u${to};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $to_connection;
      proxy_read_timeout 1h;
      proxy_request_buffering off;
      proxy_buffering off;
    }
  }
`,
  );
  return `user root;
daemon off;
worker_processes 1;
pid ${dir}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  map $http_upgrade $to_connection { default upgrade; "" ""; }
  server {
    listen 127.0.0.1:${webPort};
    root ${dir};
    keepalive_requests 10000000;
    location = / { return 200 "hello from the application, in a response of usual length for an API"; }
  }
${fronts.join("")}}
`;
}

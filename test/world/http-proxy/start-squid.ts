import { chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { output } from "../program.ts";
import { startService } from "../service.ts";
import { until } from "../until.ts";
import { makeCertificate } from "./make-certificate.ts";
import { type ProxyOptions, proxyUrl } from "./proxy-options.ts";

export interface SquidOptions extends ProxyOptions {
  readonly httpPort?: number;
  readonly httpsPort?: number;
  /** DNS names that its certificate is issued for, besides the address. */
  readonly names?: readonly string[];
}

export interface Squid extends AsyncDisposable {
  /** With the credentials in it. */
  readonly httpUrl: string;
  readonly httpsUrl: string;
  /** Authority of the https port's certificate: PEM, and the file that holds it. */
  readonly caPem: string;
  readonly caFile: string;
  /** One line for each finished request so far. */
  accessLog(): Promise<string>;
  stop(): Promise<void>;
}

/** The real squid (package squid-openssl) with a plain and a TLS port and basic authentication; ready when this resolves. */
export async function startSquid(options: SquidOptions): Promise<Squid> {
  const { address, httpPort = 3128, httpsPort = 3129, user = "agent", password = "p@ss:word" } = options;
  const dir = await mkdtemp(join(tmpdir(), "platform-squid-"));
  await chmod(dir, 0o755);
  const certificate = await makeCertificate(dir, [address, ...(options.names ?? [])]);
  await writeFile(join(dir, "passwd"), `${user}:${(await output("openssl", ["passwd", "-apr1", "-stdin"], { input: password })).trim()}\n`);
  await writeFile(join(dir, "squid.conf"), squidConfig({ dir, address, httpPort, httpsPort, ...certificate }));
  // squid gives up root for the user "proxy" before it opens its logs.
  if (process.getuid?.() === 0) await chown(dir, Number(await output("id", ["-u", "proxy"])), 0);
  const service = startService("squid", ["-N", "-d", "1", "-f", join(dir, "squid.conf")], { netns: options.netns });
  const stop = async (): Promise<void> => {
    await service.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await until(
      "squid listens",
      () => service.exited || (/Accepting HTTP Socket/.test(service.printed()) && /Accepting HTTPS Socket/.test(service.printed())),
    );
    if (service.exited) throw new Error(`squid did not start: ${service.printed()}`);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return {
    httpUrl: proxyUrl("http", { user, password }, `${address}:${httpPort}`),
    httpsUrl: proxyUrl("https", { user, password }, `${address}:${httpsPort}`),
    caPem: certificate.caPem,
    caFile: certificate.caFile,
    accessLog: () => readFile(join(dir, "access.log"), "utf8").catch(() => ""),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface SquidFacts {
  readonly dir: string;
  readonly address: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly certFile: string;
  readonly keyFile: string;
}

function squidConfig({ dir, address, httpPort, httpsPort, certFile, keyFile }: SquidFacts): string {
  return `http_port ${address}:${httpPort}
https_port ${address}:${httpsPort} tls-cert=${certFile} tls-key=${keyFile}
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${dir}/passwd
auth_param basic children 2 startup=1 idle=1
auth_param basic realm test
acl known proxy_auth REQUIRED
acl mail port 25
http_access deny mail
http_access allow known
http_access deny all
hosts_file /etc/hosts
dns_nameservers 127.0.0.1
cache deny all
cache_mem 8 MB
access_log stdio:${dir}/access.log
cache_log ${dir}/cache.log
pid_filename none
coredump_dir ${dir}
shutdown_lifetime 0 seconds
pinger_enable off
visible_hostname proxy.test
max_filedescriptors 1024
cache_effective_user proxy
`;
}

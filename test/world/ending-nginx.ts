import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "./free-port.ts";
import { makeCertificate } from "./http-proxy/make-certificate.ts";
import { output } from "./program.ts";
import { startService } from "./service.ts";
import { until } from "./until.ts";

export interface EndingNginx extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** The authority of its certificate, for SSL_CERT_FILE. */
  readonly caFile: string;
  /** Connection upgrades that it has passed on and that have ended. */
  upgrades(): Promise<number>;
}

export interface EndingNginxOptions {
  /** `address:port` of the proxy's web port. */
  readonly proxy: string;
  /** After this long without a byte it cuts a connection, s. */
  readonly idleSeconds?: number;
}

/** The real nginx as docs/load-balancers.md has it: it ends TLS, with a certificate of its own, and speaks HTTP/1.1 in TLS with the proxy. */
export async function startEndingNginx({ proxy, idleSeconds = 60 }: EndingNginxOptions): Promise<EndingNginx> {
  const dir = await mkdtemp(join(tmpdir(), "platform-nginx-"));
  const [port = 0] = await freePorts(1);
  const { certFile, keyFile, caFile } = await makeCertificate(dir, ["127.0.0.1"]);
  const [config, log, access] = [join(dir, "nginx.conf"), join(dir, "error.log"), join(dir, "access.log")];
  await mkdir(join(dir, "tmp"));
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `  ${kind}_temp_path ${join(dir, "tmp", kind)};\n`);
  await writeFile(
    config,
    `user root;
daemon off;
worker_processes 1;
pid ${join(dir, "nginx.pid")};
events { worker_connections 1024; }
http {
${folders.join("")}  log_format paths "$status $request_uri";
  access_log ${access} paths;
  map $http_upgrade $connection_upgrade { default upgrade; "" close; }
  server {
    listen 127.0.0.1:${port} ssl http2;
    ssl_certificate ${certFile};
    ssl_certificate_key ${keyFile};
    location / {
      proxy_pass https://${proxy};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_read_timeout ${idleSeconds}s;
    }
  }
}
`,
  );
  const nginx = startService("nginx", ["-e", log, "-c", config, "-p", dir]);
  const stop = async (): Promise<void> => {
    await nginx.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const address = `127.0.0.1:${port}`;
    await until("nginx passes requests on", async () => {
      if (nginx.exited) throw new Error(`nginx did not start: ${nginx.printed()}`);
      return (await output("curl", ["-sf", "--cacert", caFile, `https://${address}/webapi/ping`])) !== "";
    });
    return {
      ...{ address, caFile },
      upgrades: async () => (await readFile(access, "utf8")).split("\n").filter((line) => line === "101 /webapi/connectionupgrade").length,
      [Symbol.asyncDispose]: stop,
    };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

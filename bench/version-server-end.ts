import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { openAuth } from "../control/auth/open-auth.ts";
import { RenewingCredentials } from "../control/proxy/identity/renewing-credentials.ts";
import { openProxy } from "../control/proxy/open-proxy.ts";
import { silentLog } from "../core/log/log.ts";
import { ListenSockets } from "../core/transport/listen-sockets.ts";

/*
 * A control of its own process for bench/version-server.ts: auth and proxy service, with a limit of requests that one client
 * does not reach. Prints the proxy's port. Arguments: folder, URL of an upstream server, PEM files of the web certificate.
 */
const [folder = "", forwardUrl = "", certFile = "", keyFile = ""] = process.argv.slice(2);
const local = { host: "127.0.0.1", port: 0 };
const log = silentLog;
const now = (): Date => new Date();
const sockets = new ListenSockets();
const auth = await openAuth(
  {
    dataDir: folder,
    nodename: "bench",
    clusterName: "bench",
    listen: local,
    names: [],
    listenerMode: "multiplex",
    defaultSessionTtlSeconds: 3600,
    sessionRecording: "node",
  },
  { log, now, sockets },
);
const issue = () => auth.issueProxy(["localhost", "127.0.0.1"]);
const credentials = new RenewingCredentials({ first: await issue(), renew: issue, log, now });
const proxy = await openProxy(
  {
    dataDir: folder,
    nodename: "bench",
    webListen: local,
    keypairs: [{ certFile, keyFile }],
    caPins: [],
    upgradeChannels: { default: { staticVersion: "v1.2.3", critical: false }, forwarded: { forwardUrl } },
  },
  {
    log,
    now,
    auth: auth.localClient("proxy"),
    credentials,
    relayAuth: (stream: Duplex, remoteAddress: string) => auth.inject(stream, remoteAddress),
    listenerMode: "multiplex",
    sockets,
    upgradeLimit: { perMinute: 1e9, burst: 1e9 },
  },
  new AbortController().signal,
);
await writeFile(join(folder, "port"), String(proxy.addresses.web.port));
process.stdout.write(`ready ${proxy.addresses.web.port}\n`);

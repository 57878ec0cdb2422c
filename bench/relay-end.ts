/**
 * One end of the tunnel that relay.ts measures, as a process of its own: the product's SSH, tuning and copying, nothing else.
 *
 *   relay-end.ts proxy FILE   listens for the agent and for clients; prints both ports as JSON
 *   relay-end.ts agent FILE   dials the proxy, and the resource for each stream; prints "ready"
 */
import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import type { Duplex } from "node:stream";
import { connectSsh } from "../core/ssh/ssh-client.ts";
import { acceptSsh } from "../core/ssh/ssh-server.ts";
import { sshCryptoKind } from "../core/ssh/ssh2/hooks.ts";
import { relay } from "../core/transport/relay.ts";

export interface RelayFacts {
  readonly authority: string;
  readonly privateKey: string;
  /** Blob of a host certificate for the key, base64. */
  readonly certificate: string;
  readonly tunnelPort: number;
  readonly resourcePort: number;
}

const [role, file] = process.argv.slice(2);
const facts = JSON.parse(await readFile(file ?? "", "utf8")) as RelayFacts;
const identity = { privateKey: createPrivateKey(facts.privateKey), certificate: Buffer.from(facts.certificate, "base64") };
const signal = new AbortController().signal;

async function proxy(): Promise<void> {
  const tunnels = createServer({ noDelay: true }).listen(0, "127.0.0.1");
  const clients = createServer({ noDelay: true, allowHalfOpen: true }).listen(0, "127.0.0.1");
  await Promise.all([once(tunnels, "listening"), once(clients, "listening")]);
  console.log(
    JSON.stringify({ tunnel: (tunnels.address() as AddressInfo).port, client: (clients.address() as AddressInfo).port, crypto: sshCryptoKind() }),
  );
  const [socket] = (await once(tunnels, "connection")) as [import("node:net").Socket];
  const { connection } = await acceptSsh({
    stream: socket,
    hostKey: identity.privateKey,
    hostCertificate: identity.certificate,
    authenticate: () => {},
    signal,
  });
  connection.on("request", (accept) => accept?.());
  clients.on("connection", (client) => {
    connection.forwardOut("bench", 1, "bench", 1, (error, channel) => {
      if (error) client.destroy();
      else void relay(client, channel as Duplex);
    });
  });
}

async function agent(): Promise<void> {
  const socket = connect({ port: facts.tunnelPort, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  const options = { username: "bench", hostAuthorities: [facts.authority], timeoutMs: 10_000, signal };
  const connection = await connectSsh({ stream: socket, ...identity, ...options });
  connection.on("tcp connection", (_details, accept) => {
    const channel = accept() as Duplex;
    const resource = connect({ port: facts.resourcePort, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    void relay(resource, channel);
  });
  connection.forwardIn("bench", 1, () => console.log("ready"));
}

await (role === "proxy" ? proxy() : agent());

import { once } from "node:events";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { type HostCredentials, joinHost } from "../../core/api/host-credentials.ts";
import type { ServedKind } from "../../core/kinds/service-kinds.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamRequest, encodeStreamReply, maxStreamMessage, type StreamRequest } from "../../core/transport/stream-request.ts";
import {
  type AgentMessage,
  decodeProxyMessage,
  encodeTunnelMessage,
  type ProxyMessage,
  tunnelChannels,
} from "../../core/transport/tunnel-message.ts";
import type { TestCluster } from "./open-cluster.ts";

export interface TestAgent {
  /** Of the welcome. */
  readonly notice: string | undefined;
  readonly id: string;
  readonly ssh: SshConnection;
  readonly channel: Duplex;
  /** What the proxy sent, as it came; `next` waits for one of a type. */
  next<T extends ProxyMessage["type"]>(type: T): Promise<Extract<ProxyMessage, { type: T }>>;
  send(message: AgentMessage): void;
  readonly requests: StreamRequest[];
  end(): void;
}

export async function joinTestHost(cluster: TestCluster, hostname: string, role: "node" | "proxy" = "node"): Promise<HostCredentials> {
  const { secret } = await cluster.admin.createToken({ roles: [role], ttlSeconds: 60, uses: 1, secret: "" });
  const trust = { pins: [cluster.auth.caPin] };
  return await joinHost({ open: cluster.open, trust, token: secret, role, hostname, names: [], labels: {}, services: ["ssh"], version: "1" });
}

/** A host whose agent may offer resources of this kind: those with these names; left out: any. */
export async function joinServingHost(cluster: TestCluster, hostname: string, kind: ServedKind, names?: readonly string[]): Promise<HostCredentials> {
  const resources = names === undefined ? [] : [{ kind, names: [...names] }];
  const { secret } = await cluster.admin.createToken({ roles: ["node", kind], ttlSeconds: 60, uses: 1, secret: "", resources });
  const facts = { role: "node", hostname, names: [], labels: {}, services: [kind], version: "1" } as const;
  return await joinHost({ open: cluster.open, trust: { pins: [cluster.auth.caPin] }, token: secret, ...facts });
}

/** TLS to the proxy, and in it SSH as the host. Throws what the handshake threw. */
export async function connectHost(cluster: TestCluster, credentials: HostCredentials, username = credentials.hostId): Promise<SshConnection> {
  const tls = connectTls({
    socket: await cluster.open(),
    ALPNProtocols: [alpn.tunnel],
    servername: roleServerName("proxy"),
    ca: [...cluster.hostCaPem],
  });
  await once(tls, "secureConnect");
  return await connectSsh({
    stream: tls,
    username,
    privateKey: fromOpensshPrivate(credentials.sshPrivateKey),
    certificate: parseCertificateLine(credentials.sshCertificate).blob,
    hostAuthorities: cluster.hostCaSsh,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  });
}

export function openControl(ssh: SshConnection): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  ssh.forwardIn(tunnelChannels.stream, 1, (refused) => {
    if (refused) return reject(refused);
    ssh.forwardOut("agent", 0, tunnelChannels.control, 1, (error, channel) => (error ? reject(error) : resolve(channel)));
  });
  return promise;
}

export interface TestAgentOptions {
  readonly hostname: string;
  readonly labels?: Record<string, string>;
  /** Default: 1.2.3. */
  readonly version?: string;
  /** Default: ssh. */
  readonly services?: readonly string[];
  readonly credentials?: HostCredentials;
  /** Id of its process, for sessions that can be joined. */
  readonly process?: string;
  /** What the agent does with a stream; default: says ok and echoes. */
  readonly onStream?: (channel: Duplex, request: StreamRequest) => void;
}

/** A host that has joined, is connected and answers streams. */
export async function startTestAgent(cluster: TestCluster, options: TestAgentOptions): Promise<TestAgent> {
  const credentials = options.credentials ?? (await joinTestHost(cluster, options.hostname));
  const ssh = await connectHost(cluster, credentials);
  const requests: StreamRequest[] = [];
  const onStream = options.onStream ?? echo;
  ssh.on("tcp connection", (_details, accept) => {
    const channel: Duplex = accept();
    channel.on("error", () => {});
    readFrame(channel, { maxLength: maxStreamMessage, timeoutMs: 5000, what: "stream request" })
      .then((body) => {
        const request = decodeStreamRequest(body);
        requests.push(request);
        onStream(channel, request);
      })
      .catch(() => channel.destroy());
  });
  const channel = await openControl(ssh);
  const send = (message: AgentMessage): void => void channel.write(encodeTunnelMessage(message));
  const inbox = readInbox(channel);
  const { hostname, labels = {}, version = "1.2.3", services = ["ssh"], process } = options;
  send({ type: "hello", hostname, labels, services: [...services], version, ...(process !== undefined && { process }) });
  const { notice } = await inbox("welcome");
  return { notice, id: credentials.hostId, ssh, channel, next: inbox, send, requests, end: () => void ssh.end() };
}

export function echo(channel: Duplex): void {
  channel.write(encodeStreamReply({ ok: true }));
  channel.pipe(channel);
}

/** Waits for the first message of a type that was not taken yet; rejects when the channel ends before. */
export function readInbox(channel: Duplex): TestAgent["next"] {
  const messages: ProxyMessage[] = [];
  const waiting = new Set<() => void>();
  let held: Buffer = Buffer.alloc(0);
  let ended = false;
  const wake = (): void => {
    for (const look of [...waiting]) look();
  };
  channel.on("error", () => {});
  channel.on("close", () => {
    ended = true;
    wake();
  });
  channel.on("data", (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
      const length = held.readUInt32BE(0);
      messages.push(decodeProxyMessage(held.subarray(4, 4 + length)));
      held = held.subarray(4 + length);
    }
    wake();
  });
  return <T extends ProxyMessage["type"]>(type: T) =>
    new Promise<Extract<ProxyMessage, { type: T }>>((resolve, reject) => {
      const look = (): void => {
        const at = messages.findIndex((message) => message.type === type);
        if (at < 0 && !ended) return;
        waiting.delete(look);
        if (at < 0) reject(new Error(`the control channel ended before ${type}`));
        else resolve(messages.splice(at, 1)[0] as Extract<ProxyMessage, { type: T }>);
      };
      waiting.add(look);
      look();
    });
}

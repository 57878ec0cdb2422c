import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import { connectSsh } from "../../core/ssh/ssh-client.ts";
import type { Cluster } from "./cluster.ts";

export interface JumpStreams extends Disposable {
  /** Streams that stand. */
  readonly count: number;
}

export interface JumpStreamsAsk {
  /** Of the proxy's SSH port. */
  readonly host: string;
  readonly port: number;
  /** Private key of a user, with its certificate beside it as `tctl auth sign --format=openssh` writes them. */
  readonly identity: string;
  readonly target: string;
  readonly count: number;
}

/** Channels of one connection that a jump host takes. */
const ofConnection = 100;

/** Streams to a host through a proxy's SSH port, without any login. */
export async function openJumpStreams(cluster: Cluster, { host, port, identity, target, count }: JumpStreamsAsk): Promise<JumpStreams> {
  const privateKey = fromOpensshPrivate(await readFile(identity, "utf8"));
  const certificate = parseCertificateLine(await readFile(`${identity}-cert.pub`, "utf8")).blob;
  const exported = await cluster.admin("auth", "export", "--type=host");
  const hostAuthorities = exported
    .trim()
    .split("\n")
    .map((line) => line.replace(/^@cert-authority \S+ /, ""));
  const abort = new AbortController();
  const signIn = { username: "anybody", privateKey, certificate, hostAuthorities, timeoutMs: 30_000, signal: abort.signal };
  const openAll = async (channels: number): Promise<number> => {
    const stream = connect(port, host);
    await once(stream, "connect");
    const client = await connectSsh({ stream, ...signIn });
    client.on("error", () => {});
    const forward = promisify(client.forwardOut.bind(client)) as (from: string, fromPort: number, to: string, toPort: number) => Promise<Duplex>;
    const opened = await Promise.allSettled(Array.from({ length: channels }, () => forward("127.0.0.1", 0, target, 22)));
    for (const result of opened) if (result.status === "fulfilled") result.value.on("error", () => {}).resume();
    return opened.filter(({ status }) => status === "fulfilled").length;
  };
  const connections = Array.from({ length: Math.ceil(count / ofConnection) }, (_, at) => Math.min(ofConnection, count - at * ofConnection));
  const counts = await Promise.all(connections.map(openAll));
  return { count: counts.reduce((sum, one) => sum + one, 0), [Symbol.dispose]: () => abort.abort() };
}

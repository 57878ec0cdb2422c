import { randomUUID } from "node:crypto";
import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { AcceptConnection, Channel, Connection, RejectConnection } from "ssh2";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { createQueue } from "../../../core/limits/queue.ts";
import { couple } from "../../../core/ssh/couple.ts";
import { type OpenRefusal, refuseChannel } from "../../../core/ssh/refusals.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { watchPeer } from "../../service/watch-peer.ts";
import type { Slots } from "../../ssh-server/user-limits.ts";
import { sessionFacts, type UserConnection } from "../user-connection.ts";
import { AgentForwarding } from "./agent-forwarding.ts";
import { type Forwarding, noForwarding } from "./forwarding.ts";
import { createPortReport } from "./port-report.ts";
import { RemoteForwards } from "./remote.ts";
import { OwnTcp, systemText, type TcpSockets } from "./tcp-sockets.ts";
import { connectAsUser } from "./user-sockets.ts";
import { UserTcp } from "./user-tcp.ts";
import { X11Forwarding } from "./x11-forwarding.ts";

export interface ServedForwarding {
  readonly agent: AgentForwarding;
  readonly x11: X11Forwarding;
  /** A request after one for a listener finds it open, as with sshd(8): resolves when all listeners requested until now are settled. */
  readonly settled: () => Promise<void>;
  /** Resolves when all forwarding has ended; call it once the connection is closed. */
  readonly end: () => Promise<void>;
}

/** Answers a client's forwarding requests. */
export function serveForwarding(connection: Connection, facts: UserConnection, slots: Slots): ServedForwarding {
  const closed = new AbortController();
  const forwarding: Forwarding = {
    connection,
    facts,
    sockets: socketsOf(facts),
    slots,
    report: portReport(facts),
    gone: closed.signal,
  };
  const running = new Set<Promise<void>>();
  const track = (work: Promise<void>): void => {
    running.add(work);
    void work.finally(() => running.delete(work));
  };
  const remote = new RemoteForwards(forwarding);
  const inOrder = (connect: () => Promise<Socket>): (() => Promise<Socket>) => {
    const before = remote.settled();
    return () => before.then(connect);
  };
  connection.on("tcpip", (accept, reject, { destIP: host, destPort: port }) => {
    const connect = inOrder(() => connectHost(forwarding.sockets, { host, port }, closed.signal));
    track(direct(forwarding, { accept, reject, addr: formatHostPort({ host, port }), connect }));
  });
  connection.on("openssh.streamlocal", (accept, reject, { socketPath: path }) => {
    const connect = inOrder(() => connectAsUser({ user: facts.user, launch: facts.deps.launch }, path));
    track(direct(forwarding, { accept, reject, addr: path, connect }));
  });
  const agent = new AgentForwarding(forwarding);
  onRequests(remote, connection, facts);
  const end = async (): Promise<void> => {
    closed.abort();
    await Promise.all([remote.close(), agent.close(), ...running]);
    forwarding.sockets.close();
    await forwarding.report.end().catch((thrown: unknown) => {
      facts.deps.log.error("could not record forwarded ports", { error: errorText(thrown) });
    });
  };
  return { agent, x11: new X11Forwarding(forwarding), settled: () => remote.settled(), end };
}

/** An agent that already runs as the user needs no other process. */
function socketsOf({ user, deps }: UserConnection): TcpSockets {
  return process.geteuid?.() === user.uid ? new OwnTcp() : new UserTcp({ user, starter: deps.starter, groups: deps.groups });
}

function onRequests(remote: RemoteForwards, connection: Connection, { deps }: UserConnection): void {
  connection.on("request", (accept, reject, name, info) => {
    const answer = (work: Promise<number | boolean>): void => {
      work.then(
        (result) => (result === false ? reject?.() : accept?.(typeof result === "number" ? result : undefined)),
        (thrown: unknown) => {
          deps.log.info("refused a listener", { error: errorText(thrown) });
          reject?.();
        },
      );
    };
    const { bindAddr = "", bindPort = 0, socketPath = "" } = info as { bindAddr?: string; bindPort?: number; socketPath?: string };
    switch (name as string) {
      case "tcpip-forward":
        return answer(remote.listenTcp(bindAddr, bindPort));
      case "cancel-tcpip-forward":
        return answer(remote.cancelTcp(bindAddr, bindPort));
      case "streamlocal-forward@openssh.com":
        return answer(remote.listenUnix(socketPath));
      case "cancel-streamlocal-forward@openssh.com":
        return answer(remote.cancelUnix(socketPath));
      default:
        return reject?.();
    }
  });
}

function portReport(facts: UserConnection) {
  const { request, deps } = facts;
  const session = sessionFacts(facts, request.sessionId || randomUUID());
  return createPortReport({
    now: () => performance.now(),
    sleep: (ms) => sleep(ms),
    record: (attempt) => deps.audit.record({ event: "port", ...session, ...attempt }),
  });
}

interface HostAddress {
  /** Name or address. */
  readonly host: string;
  readonly port: number;
}

/** Maximum concurrent look-ups: each blocks one of the few threads that the agent's file work uses too. */
const lookups = createQueue({ atOnce: 2, waiting: 256 });

/** A TCP connection from this host, half-open allowed, paused. Tries a name's addresses in order, as sshd does. Throws `unavailable` with the last reason. */
async function connectHost(sockets: Pick<TcpSockets, "connect">, { host, port }: HostAddress, gone: AbortSignal): Promise<Socket> {
  let last: unknown;
  for (const address of await addressesOf(host)) {
    try {
      return watchPeer(await sockets.connect({ host: address, port }, gone), formatHostPort({ host, port }));
    } catch (thrown) {
      last = thrown;
      if (gone.aborted) break;
    }
  }
  throw new PlatformError("unavailable", systemText(last), { cause: last });
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    const found = await lookups(() => lookup(host, { all: true, order: "verbatim" }));
    return found.map(({ address }) => address);
  } catch (thrown) {
    throw new PlatformError("unavailable", systemText(thrown), { cause: thrown });
  }
}

/** A channel that the client asks to open to some destination. */
interface DirectAsk {
  readonly accept: AcceptConnection<Channel>;
  readonly reject: RejectConnection;
  /** Description for the audit log. */
  readonly addr: string;
  readonly connect: () => Promise<Socket>;
}

/** `direct-tcpip` and `direct-streamlocal@openssh.com`: connects, then answers, then copies. Resolves at its end; never throws. */
async function direct(forwarding: Forwarding, { accept, reject, addr, connect }: DirectAsk): Promise<void> {
  const { connection, facts, slots, report, gone } = forwarding;
  const refuse = (refusal: OpenRefusal): void => refuseChannel(connection, reject, refusal);
  if (!facts.grant.rules.portForwarding) {
    await report.note({ direction: "local", addr, error: noForwarding }).catch(() => {});
    return refuse({ reason: "administratively prohibited", text: noForwarding });
  }
  const release = slots.take();
  if (release === undefined) return refuse({ reason: "resource shortage", text: "too many forwarded connections" });
  try {
    const socket = await connectAndRecord(forwarding, { addr, connect });
    if (gone.aborted) socket.destroy();
    else await couple(accept(), socket, gone);
  } catch (thrown) {
    refuse({ reason: "connect failed", text: errorText(thrown) });
  } finally {
    release();
  }
}

async function connectAndRecord({ report }: Forwarding, { addr, connect }: Pick<DirectAsk, "addr" | "connect">): Promise<Socket> {
  let socket: Socket;
  try {
    socket = await connect();
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    await report.note({ direction: "local", addr, error });
    throw thrown;
  }
  try {
    // It has no listener until it is coupled.
    socket.on("error", () => {});
    await report.note({ direction: "local", addr });
    return socket;
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }
}

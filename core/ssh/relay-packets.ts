import type { Duplex } from "node:stream";
import type { Client, Connection } from "ssh2";
import { interceptMessages, isExchanging, sendPayload, subscribe, transportOf } from "./ssh2/hooks.ts";
import type { SshEnd } from "./subscriber.ts";

/**
 * Sees each message before it is passed on, from its type byte on; true drops it. The buffer belongs to the caller again afterwards. Until a promise
 * resolves, that message and all after it wait; a rejected one ends both connections.
 */
export type SeeMessage = (payload: Buffer) => boolean | Promise<boolean>;

export interface RelayedPackets {
  readonly fromClient: SeeMessage;
  readonly fromHost: SeeMessage;
}

/** Messages of the connection protocol (RFC 4250 section 4.1.2). Lower numbers belong to each connection. */
const firstMessage = 80;
const disconnect = 1;
/** Maximum bytes waiting for the end of a key exchange on the other side before reading stops. */
const mostHeld = 4 * 1024 * 1024;
/** Messages that wait for a promise: reading stops meanwhile, but the messages of the last read are already here. */
const mostWaiting = 65_536;

interface Side {
  readonly connection: SshEnd;
  readonly stream: Duplex;
  readonly see: SeeMessage;
  /** Held back by a key exchange of this side, bytes. */
  held: number;
  isPaused: boolean;
  /** A message of this side is being inspected; the messages after it. */
  isLooking: boolean;
  readonly waiting: Buffer[];
  /** It has sent its disconnect message. */
  hasLeft: boolean;
}

/**
 * Relays between two logged-in connections: every message of a channel, and every global request, goes to the other side unchanged.
 * So numbers of channels and windows are those of the two ends, and protocol extensions pass too. Keys are each connection's
 * own. Call it before either side's next message is read; neither may have channels or keep-alives of its own. Resolves when both are closed.
 */
export async function relayPackets(client: Connection, host: Client, { fromClient, fromHost }: RelayedPackets): Promise<void> {
  const sides = { client: sideOf(client, fromClient), host: sideOf(host, fromHost) };
  const closed = [pass(sides.client, sides.host), pass(sides.host, sides.client)];
  client.on("handshake", () => exchanged(sides.client, sides.host));
  host.on("handshake", () => exchanged(sides.host, sides.client));
  await Promise.all(closed);
}

/** Sends messages of the connection protocol on its own, and ends the connection after them. */
export function endWith(connection: Connection, messages: readonly Buffer[]): void {
  for (const payload of messages) sendPayload(connection, payload);
  connection.end();
}

function sideOf(connection: SshEnd, see: SeeMessage): Side {
  return { connection, stream: transportOf(connection), hasLeft: false, see, held: 0, isPaused: false, isLooking: false, waiting: [] };
}

function pass(from: Side, to: Side): Promise<void> {
  interceptMessages(from.connection, (payload) => {
    if (payload[0] === disconnect) from.hasLeft = true;
    if ((payload[0] ?? 0) < firstMessage) return false;
    if (from.isLooking) keep(from, Buffer.from(payload));
    else look(from, to, payload);
    return true;
  });
  // A key exchange of ours needs the peer's answers: so reading must not be blocked.
  subscribe(from.connection, { rekeying: () => decide(from, to) });
  to.stream.on("drain", () => decide(from, to));
  return new Promise((resolve) => {
    from.stream.once("close", () => {
      // A connection that was lost on one side is lost on the other.
      if (from.hasLeft) to.connection.end();
      else to.stream.end();
      resolve();
    });
  });
}

function keep(from: Side, payload: Buffer): void {
  from.waiting.push(payload);
  if (from.waiting.length > mostWaiting) from.stream.destroy();
}

function look(from: Side, to: Side, payload: Buffer): void {
  const verdict = from.see(payload);
  if (typeof verdict === "boolean") {
    if (!verdict) send(from, to, payload);
    return;
  }
  const copy = Buffer.from(payload);
  from.isLooking = true;
  decide(from, to);
  verdict.then(
    (isDropped) => {
      from.isLooking = false;
      if (!isDropped) send(from, to, copy);
      while (!from.isLooking) {
        const next = from.waiting.shift();
        if (next === undefined) break;
        look(from, to, next);
      }
      decide(from, to);
    },
    () => {
      from.stream.end();
      to.stream.end();
    },
  );
}

function send(from: Side, to: Side, payload: Buffer): void {
  if (to.stream.destroyed || to.stream.writableEnded) return;
  if (isExchanging(to.connection)) to.held += payload.length;
  sendPayload(to.connection, payload);
  decide(from, to);
}

function exchanged(side: Side, other: Side): void {
  side.held = 0;
  decide(other, side);
}

/** Reads no more from a side than the other accepts. */
function decide(from: Side, to: Side): void {
  const isBehind = from.isLooking || to.stream.writableNeedDrain || to.held > mostHeld;
  const shall = isBehind && !isExchanging(from.connection);
  if (shall === from.isPaused) return;
  from.isPaused = shall;
  if (shall) from.stream.pause();
  else from.stream.resume();
}

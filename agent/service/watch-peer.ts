import type { Socket } from "node:net";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { descriptorOf } from "../../core/node-internals/descriptor-of.ts";
import { ignoreError } from "../../core/transport/dial/attempt.ts";
import { keepAlive } from "../../core/transport/keep-alive.ts";
import { hostAddon } from "../host/host-addon.ts";

/*
 * Check of the agent's connections to its targets, for hosts that vanish without closing them (no power, a lost route). The kernel finds that by itself
 * where nothing is under way (keep-alive). Where an acknowledgement is due, it sends the same again for a quarter of an hour: these are looked at here.
 * Its own limit for that (TCP_USER_TIMEOUT) would end healthy connections too, those whose peer does not read for as long: a program of
 * `kubectl exec -i` that waits, a slow import.
 */

/** Time between looks, ms. */
const everyMs = 15_000;
/** Looks in a row at which the peer is silent: it is gone. */
const mostSilent = 3;
/** Packets in vain that count: one or two may be lost. */
const leastUnanswered = 3;

/** What the kernel knows of a peer. */
export interface PeerState {
  /** Packets sent again, or probes, since its last word. */
  readonly unanswered: number;
  /** Time since its last word, ms. */
  readonly silentMs: number;
}

/**
 * Looks in a row at which the peer owed an answer and had sent nothing since the look before, `elapsedMs` ago. They are counted, not their time: a process
 * that was stopped for long ends nothing. Pure.
 */
export function countSilence(before: number, { unanswered, silentMs }: PeerState, elapsedMs: number): number {
  return unanswered >= leastUnanswered && silentMs > elapsedMs ? before + 1 : 0;
}

/**
 * Ends a TCP connection to a target whose host has vanished, within some minute: it fails with PlatformError `timeout`, or the kernel's ETIMEDOUT. One
 * whose host answers stays, however quiet the target is or however little it reads. `peer` goes into the error. Sockets of other kinds are left alone.
 * Returns the socket, with a listener for errors that stays.
 */
export function watchPeer(socket: Socket, peer: string): Socket {
  keepAlive(socket).on("error", ignoreError);
  if (peerState(socket) === undefined) return socket;
  let lookedAt = performance.now();
  let silent = 0;
  const look = (): void => {
    const [state, now] = [peerState(socket), performance.now()];
    silent = state === undefined ? 0 : countSilence(silent, state, now - lookedAt);
    lookedAt = now;
    if (silent < mostSilent) return;
    clearInterval(timer);
    socket.destroy(new PlatformError("timeout", `${peer} does not answer: nothing has come from it for ${(mostSilent * everyMs) / 1000} s`));
  };
  const timer = setInterval(look, everyMs).unref();
  return socket.once("close", () => clearInterval(timer));
}

function peerState(socket: Socket): PeerState | undefined {
  const fd = descriptorOf(socket);
  const [unanswered, silentMs] = (fd === undefined ? undefined : hostAddon()?.peerState(fd)) ?? [];
  return unanswered === undefined || silentMs === undefined ? undefined : { unanswered, silentMs };
}

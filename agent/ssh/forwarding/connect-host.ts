import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { systemText } from "./system-text.ts";
import { createTurns } from "./turns.ts";

export interface HostAddress {
  /** Name or address. */
  readonly host: string;
  readonly port: number;
}

/** For one address, ms. */
const connectMs = 20_000;
/** Look-ups block a thread of the few that the agent's file work uses too. */
const lookupTurns = createTurns({ atOnce: 2, waiting: 256 });

/** A TCP connection from this host, half-open allowed, paused. Tries a name's addresses in order, as sshd does. Throws `unavailable` with the last reason. */
export async function connectHost({ host, port }: HostAddress, gone: AbortSignal): Promise<Socket> {
  let last: unknown;
  for (const address of await addressesOf(host)) {
    try {
      return await connectOne({ host: address, port }, gone);
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
    const found = await lookupTurns(() => lookup(host, { all: true, order: "verbatim" }));
    return found.map(({ address }) => address);
  } catch (thrown) {
    throw new PlatformError("unavailable", systemText(thrown), { cause: thrown });
  }
}

function connectOne({ host, port }: HostAddress, gone: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const fail = (error: Error): void => {
      settle();
      socket.on("error", () => {}).destroy();
      reject(error);
    };
    const late = (): void => fail(Object.assign(new Error("Connection timed out"), { code: "ETIMEDOUT" }));
    const abort = (): void => fail(new Error("the client left"));
    const timer = setTimeout(late, connectMs);
    const settle = (): void => {
      clearTimeout(timer);
      gone.removeEventListener("abort", abort);
      socket.off("error", fail);
    };
    gone.addEventListener("abort", abort, { once: true });
    socket.once("error", fail).once("connect", () => {
      settle();
      resolve(socket.pause());
    });
    if (gone.aborted) abort();
  });
}

import { isGiven, type KillTarget, killTarget, maxKill } from "./kill-target.ts";
import { packet } from "./packet.ts";
import { PacketBoundaries } from "./packet-boundaries.ts";

/** Numbers of commands. */
const [query, processKill] = [0x03, 0x0c] as const;
const headerBytes = 4;
/** Of a query with no attributes, where the session has them: their number, and that of the sets of them. */
const noAttributes = Buffer.of(0, 1);

/** The server's number of the connection whose client was greeted with `own`; undefined: nobody knows it. Never rejects. */
export type FindThread = (own: number) => Promise<number | undefined>;

/**
 * Looks at a client's bytes on their way for a command that kills a connection by the number with which its client was greeted: the promise gives it with the server's
 * number, for an agent that does not know that connection. Undefined: the bytes go on at once. A command that comes together with others is not looked at.
 */
export function withKnownThreads(find: FindThread): (chunk: Buffer) => Promise<Buffer> | undefined {
  const boundaries = new PacketBoundaries();
  return (chunk) => {
    const begins = boundaries.atBoundary;
    boundaries.push(chunk);
    if (!begins || chunk.length > headerBytes + 1 + noAttributes.length + maxKill || chunk[3] !== 0 || !boundaries.atBoundary) return undefined;
    if (headerBytes + chunk.readUIntLE(0, 3) !== chunk.length) return undefined;
    const payload = chunk.subarray(headerBytes);
    const kill = payload[0] === query ? killQuery(payload) : payload[0] === processKill ? killProcess(payload) : undefined;
    if (kill === undefined || !isGiven(kill.own)) return undefined;
    return find(kill.own).then((thread) => (thread === undefined ? chunk : packet(0, kill.at(thread))));
  };
}

/** `03 | attributes | text`. */
function killQuery(payload: Buffer): KillTarget | undefined {
  const begin = payload.subarray(1, 1 + noAttributes.length).equals(noAttributes) ? 1 + noAttributes.length : 1;
  const target = killTarget(payload.subarray(begin));
  return target && { own: target.own, at: (thread) => Buffer.concat([payload.subarray(0, begin), target.at(thread)]) };
}

/** `0C | connection u32`. */
function killProcess(payload: Buffer): KillTarget | undefined {
  if (payload.length !== 5) return undefined;
  const at = (thread: number): Buffer => {
    const changed = Buffer.from(payload);
    changed.writeUInt32LE(thread, 1);
    return changed;
  };
  return { own: payload.readUInt32LE(1), at };
}

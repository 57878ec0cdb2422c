import { markedHost, maxMembers, memberMark, newMarkSecret, portDigits } from "../../../../core/databases/redis/member-marks.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../../../../core/transport/host-port.ts";
import { type RespText, type RespValue, textOf } from "./resp-value.ts";

/** Members of a cluster as the client of one session sees them: each at a local port of its own, whose number is a mark until `tsh` fills it in. */
export class ClusterView {
  readonly secret: Buffer;
  /** The server of the session: members state no host for themselves where clients shall use the one that they have dialled. */
  readonly #at: HostPort;
  readonly #named = new Set<string>();

  constructor(at: HostPort, secret: Buffer = newMarkSecret()) {
    this.#at = at;
    this.secret = secret;
  }

  /** What stands for the port of a member. Throws `invalid` for a malformed host or port, `limit` for too many members. */
  mark(host: string, port: string): Buffer {
    const address = formatHostPort(memberAddress(host, port, this.#at));
    this.#named.add(address);
    if (this.#named.size > maxMembers) throw tooManyMembers();
    return memberMark(this.secret, address);
  }

  /** `127.0.0.1:port` with a mark, within a text. */
  address(host: string, port: string): Buffer {
    return Buffer.concat([Buffer.from(`${markedHost}:`), this.mark(host, port)]);
  }

  /** Bytes of these marks that clients do not see in a text. */
  hidden(marks: readonly Buffer[]): number {
    return marks.reduce((sum, { length }) => sum + length - portDigits, 0);
  }

  /** The local host in place of a value. */
  host({ type }: RespValue): RespText {
    const isText = type === "$" || type === "+" || type === "=";
    return { type: isText ? type : "$", bytes: Buffer.from(markedHost) };
  }

  /** The mark in place of the number of a port. */
  port(host: string, port: RespValue | undefined): RespText {
    return { type: ":", bytes: this.mark(host, textOf(port) ?? "") };
  }
}

/** The address of a member as stated; `at`: of the server that states it. Throws `invalid`. Pure. */
export function memberAddress(host: string, port: string, at: HostPort): HostPort {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  // Redis states `?` where it does not know a name yet.
  const stated = host === "" || host === "?" ? at.host : host;
  if (number > 0 && number <= 65_535 && /^[A-Za-z0-9._:%-]{1,255}$/.test(stated)) return { host: stated, port: number };
  throw new PlatformError("invalid", `the cluster states an address that is none: ${JSON.stringify(`${host}:${port}`.slice(0, 100))}`);
}

export function tooManyMembers(): PlatformError {
  return new PlatformError("limit", `the cluster has more than ${maxMembers} members`);
}

import { usualConnectionsOfUser } from "../../core/config/connections-of-user.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../core/identity/identity.ts";
import type { ServiceKind } from "../../core/kinds/service-kinds.ts";
import { type BucketSize, Buckets } from "./buckets.ts";
import { RoomShares } from "./room-shares.ts";

/**
 * Storage quotas of a host at this service: a burst, for data kept while it was disconnected, and an average; of events, a share of the disk. What is
 * refused stays with the host.
 */
export interface HostQuotas {
  /** Audit events. Throws `limit`: the host keeps and resends them. */
  events(host: HostIdentity, lines: readonly string[]): void;
  /** Its reports of sessions and state. Throws `limit`. */
  report(host: HostIdentity, bytes: number): void;
  /** New certificates. Throws `limit`. */
  renewal(host: HostIdentity): void;
  /**
   * A user's part of the host's certificates for databases, taken first: who is refused here takes nothing from the host's other users. `user`: as the host
   * names them, who can so exceed this for itself alone. Throws `limit`.
   */
  databaseUser(host: HostIdentity, user: string): void;
  /** Certificates for databases, of its users. Throws `limit`. */
  databaseCertificate(host: HostIdentity): void;
  /** Tokens for applications, and certificates for connections that go through a proxy: in users' names, or as their host. Throws `limit`. */
  connection(host: HostIdentity): void;
  /** Certificates with which proxies connect in a user's name to resources of this kind, all proxies together. Throws `limit`. */
  connectionOf(user: string, kind: ServiceKind): void;
  /** Bytes of recordings. Throws `unavailable`, after which a host retries soon. */
  recording(host: HostIdentity, bytes: number): void;
}

const [kib, mib] = [1024, 1024 * 1024];
/** A proxy reports for many hosts. */
const proxyFactor = 10;
/** Of events: an agent keeps 64 MiB of them while this service is away. */
const eventShare = { share: 0.1, leastBytes: 96 * mib, leastPerSecond: 64 * kib };
/** What an event takes in the store beside its text, bytes. */
const eventOverhead = 256;
/** Part of a host's certificates for databases that one user may take. */
const userShare = 0.5;
const sizes = {
  report: [
    { perSecond: 6, burst: 300 },
    { perSecond: 512 * kib, burst: 16 * mib },
  ],
  renewal: [{ perSecond: 1 / 60, burst: 30 }],
  // An agent keeps a certificate for a minute, for all connections of its user to the same account.
  databaseCertificate: [{ perSecond: 20, burst: 1_000 }],
  // An agent keeps a token for minutes, for all requests of a connection.
  connection: [{ perSecond: 50, burst: 2_000 }],
  recording: [{ perSecond: 2 * mib, burst: 2_048 * mib }],
} as const;

/** `spare`: bytes that hosts may still fill on the disk of this service. `ofUser`: connections that proxies open in one user's name. */
export function createHostQuotas(now: () => Date, spare: () => number, ofUser: BucketSize = usualConnectionsOfUser): HostQuotas {
  const nodes = bucketsOf(1);
  const userShares = { node: userShareOf(1), proxy: userShareOf(proxyFactor) } as const;
  const proxies = bucketsOf(proxyFactor);
  const users = new Buckets(ofUser);
  const { share, leastBytes, leastPerSecond } = eventShare;
  const events = {
    node: new RoomShares(eventShare),
    proxy: new RoomShares({ share: share * 5, leastBytes: leastBytes * proxyFactor, leastPerSecond: leastPerSecond * proxyFactor }),
  } as const;
  const mayStore = (host: HostIdentity, bytes: number): boolean =>
    host.role === "auth" || events[host.role].take(host.id, bytes, { room: spare(), now: now() });
  const take = (kind: keyof typeof sizes, host: HostIdentity, amounts: readonly number[]): boolean =>
    host.role === "auth" || (host.role === "proxy" ? proxies : nodes)[kind].take(host.id, amounts, now());
  const refuse = (code: "limit" | "unavailable", what: string, hint = "the host sends them again later"): never => {
    throw new PlatformError(code, `too many ${what} from this host at once`, { hint });
  };
  return {
    events: (host, lines) => {
      if (mayStore(host, bytesOf(lines) + lines.length * eventOverhead)) return;
      const hint =
        "they would fill more than a tenth of the auth service's free disk within a day; the host sends them later, as its share comes back";
      refuse("limit", "audit events", hint);
    },
    report: (host, bytes) => void (take("report", host, [1, bytes]) || refuse("limit", "reports")),
    renewal: (host) => void (take("renewal", host, [1]) || refuse("limit", "renewals")),
    databaseUser: (host, user) => {
      if (host.role === "auth" || userShares[host.role].take(`${host.id} ${user}`, [1], now())) return;
      throw new PlatformError("limit", `too many new connections of ${user} to databases through this host at once`, {
        hint: "keep connections open, as a pool does, or try again in a moment",
      });
    },
    databaseCertificate: (host) =>
      void (take("databaseCertificate", host, [1]) || refuse("limit", "requests for database certificates", "try again in a moment")),
    connection: (host) =>
      void (take("connection", host, [1]) || refuse("limit", "requests for certificates and tokens of connections", "try again in a moment")),
    // Logins in bulk by SSH do not use up what the same user's pages need.
    connectionOf: (user, kind) => {
      if (users.take(`${kind} ${user}`, [1], now())) return;
      const { burst, perSecond } = ofUser;
      throw new PlatformError("limit", `too many new connections of ${user}: one user may open ${burst} at once, and then ${perSecond} a second`, {
        hint: "try again in a few seconds",
      });
    },
    recording: (host, bytes) => void (take("recording", host, [bytes]) || refuse("unavailable", "recordings")),
  };
}

function bucketsOf(factor: number): Record<keyof typeof sizes, Buckets> {
  const make = (kind: keyof typeof sizes): Buckets =>
    new Buckets(...sizes[kind].map(({ perSecond, burst }) => ({ perSecond: perSecond * factor, burst: burst * factor })));
  return {
    report: make("report"),
    renewal: make("renewal"),
    databaseCertificate: make("databaseCertificate"),
    connection: make("connection"),
    recording: make("recording"),
  };
}

/** Of a user at a host. */
function userShareOf(factor: number): Buckets {
  const part = factor * userShare;
  return new Buckets(...sizes.databaseCertificate.map(({ perSecond, burst }) => ({ perSecond: perSecond * part, burst: burst * part })));
}

function bytesOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
}

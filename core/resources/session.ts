import { createHash } from "node:crypto";
import { z } from "zod";
import { documentKind } from "./document.ts";

/** How a user participates in another user's session: only watches, or types too. */
export const joinModes = ["observer", "peer"] as const;
export type JoinMode = (typeof joinModes)[number];

/** Kinds of sessions with a terminal: on a host, or in a pod. */
export const sessionKinds = ["ssh", "kube"] as const;
export type SessionKind = (typeof sessionKinds)[number];

/** Maximum participants of a session at a time, besides its owner. */
export const maxParticipants = 16;
/** Maximum sessions that one process of an agent reports. */
export const maxSessions = 1000;

const short = z.string().max(256);
const participantSchema = z.strictObject({ user: short, mode: z.enum(joinModes) });
export type Participant = z.infer<typeof participantSchema>;

/** The container in which a session of kind `kube` runs. */
const podSchema = z.strictObject({ cluster: short, namespace: short, name: short, container: short });
export type SessionPod = z.infer<typeof podSchema>;

/** A running terminal session, as reported by its host. */
export const activeSessionSchema = z.strictObject({
  sid: z.uuid(),
  kind: z.enum(sessionKinds),
  server_id: short,
  server_name: short,
  user: short,
  /** Roles in the user's certificate, which `join_sessions` refers to. */
  roles: z.array(short).max(256),
  /** Empty in a pod. */
  login: short,
  /** Of a session in a pod; `server_id` and `server_name` are those of the agent. */
  pod: podSchema.optional(),
  started: z.iso.datetime(),
  participants: z.array(participantSchema).max(maxParticipants),
  /** The agent process that serves it: an older one keeps its sessions while a newer one takes new ones. */
  process: z.uuid(),
});
export type ActiveSession = z.infer<typeof activeSessionSchema>;

/** A session as shown to a user, with the modes in which they may join it. */
export const listedSessionSchema = activeSessionSchema.omit({ roles: true, process: true }).extend({ modes: z.array(z.enum(joinModes)) });
export type ListedSession = z.infer<typeof listedSessionSchema>;

/** Where a session runs, for people: `root@web-1`, or in a pod `prod/shop/web-0`. Pure. */
export function sessionPlace({ login, server_name: host, pod }: Pick<ActiveSession, "login" | "server_name" | "pod">): string {
  return pod === undefined ? `${login}@${host}` : `${pod.cluster}/${pod.namespace}/${pod.name}`;
}

/** The name under which participants log in to a host: no Unix login can have this name, and no certificate lists it. */
export const joinLogin = "-join-";

export const sessionDocument = documentKind("session", activeSessionSchema, { what: "a running session" });
export const listedSessionDocument = documentKind("listed_session", listedSessionSchema, { what: "a running session" });

/**
 * The id of a session: the first of a connection has the connection's; each later one has a UUID of version 8 that agent and proxy compute alike
 * (RFC 9562). `place`: how many sessions of the connection were accepted before it.
 */
export function sessionIdOf(connection: string, place: number): string {
  if (place === 0) return connection;
  const hash = createHash("sha256").update(`${connection}/${place}`).digest();
  hash.writeUInt8(((hash[6] ?? 0) & 0x0f) | 0x80, 6);
  hash.writeUInt8(((hash[8] ?? 0) & 0x3f) | 0x80, 8);
  const hex = hash.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

import { z } from "zod";
import { type AuditEventSpecs, confirmed, count, maxAuditCommand, maxShort, moment, outcome, server, short, text } from "../../audit/event-spec.ts";

/** Roles at a server: the first ones of many. */
const serverRoles = z.array(short).max(64);

/**
 * Fields of every audit event of a database session. `db_service` is the resource; `db_user` and `db_name` are empty until they are known. `db_labels`: of the
 * resource, the first ones of many. `db_origin`: whether the agent's file or a resource of the cluster describes it. `db_roles`: those of an account that the agent
 * makes. `db_member`: the member of a cluster that the client has asked for, `host:port`. `relayed_by`: id of the proxy whose database port the client has used.
 */
export const dbSession = {
  ...server,
  user: short,
  sid: short,
  db_service: short,
  db_protocol: short,
  db_type: short.optional(),
  db_origin: z.enum(["static", "dynamic"]).optional(),
  db_labels: z.record(short, short).optional(),
  db_uri: text,
  db_user: short,
  db_name: short,
  db_roles: serverRoles.optional(),
  db_member: short.optional(),
  relayed_by: short.optional(),
};

/** Fields of `dbSession` that the version before does not know. */
const newer = ["db_type", "db_origin", "db_labels", "db_roles", "with_mfa"];

/** Audit events with the fields of `dbSession`; keeps their exact types. */
export function databaseEvents<const Specs extends AuditEventSpecs>(specs: Specs): Specs {
  // The names and fields are the same; `Object.fromEntries` forgets their types.
  return Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [name, { ...spec, newer: [...newer, ...(spec.newer ?? [])] }]),
  ) as unknown as Specs;
}

/** Longest text of a query or statement in an event, characters. Its source truncates it. */
export const maxQuery = maxAuditCommand;
/** A query or statement; with its whole length in bytes when it was truncated. */
export const query = { db_query: z.string().max(maxQuery), db_query_bytes: count.optional() };

/** Maximum number of parameters in an event. */
export const maxParameters = 64;
/** Parameters as text, binary ones in base64; null is NULL. Longer ones are truncated, and only the first ones are kept. */
export const parameters = z.array(z.string().max(maxShort).nullable()).max(maxParameters);

/** Maximum number of settings of a session in the event of its start. */
export const maxSettings = 64;

/** Audit events that the sessions of all database protocols share. */
export const dbSessionEvents = databaseEvents({
  /** `user_agent`: the client program as it names itself. `replication`, `physical` or `logical`: it wants to copy the server's data as a replica does. `settings`: those that it has stated at its start, as `name=value`. */
  "db.session.start": {
    code: ["TDB00I", "TDB00W"],
    reporters: ["node"],
    fields: {
      ...dbSession,
      ...outcome,
      ...confirmed,
      user_agent: short.optional(),
      replication: short.optional(),
      settings: z.array(text).max(maxSettings).optional(),
    },
  },
  /**
   * `reason`: why it ended, if a rule, a lock or a failure ended it. `queries_unsent`: how many of the last of its `queries` did not go to the server any more, though
   * they have events. `postgres_pid`: the server's process of a PostgreSQL session.
   */
  "db.session.end": {
    code: "TDB01I",
    reporters: ["node"],
    newer: ["queries_unsent", "postgres_pid"],
    fields: {
      ...dbSession,
      session_start: moment,
      bytes_transmitted: count,
      bytes_received: count,
      queries: count,
      queries_unsent: count.optional(),
      postgres_pid: count.optional(),
      reason: text.optional(),
    },
  },
  /** A query or command that was passed on to the server, or refused on the way. `script_sha1`: of the whole script of Redis in it, as EVALSHA names it. */
  "db.session.query": {
    code: ["TDB02I", "TDB02W"],
    reporters: ["node"],
    fields: { ...dbSession, ...query, ...outcome, db_query_parameters: parameters.optional(), script_sha1: short.optional() },
  },
  /** The client sent bytes that the protocol does not allow, and was disconnected. `payload`: the first of them, base64. */
  "db.session.malformed_packet": { code: "TDB06I", reporters: ["node"], fields: { ...dbSession, payload: text } },
  /** The agent made the account of the user, or let it in again, with these roles at the server; or could not. */
  "db.session.user.create": {
    code: ["TDB08I", "TDB08W"],
    reporters: ["node"],
    fields: { ...dbSession, ...outcome, username: short, roles: serverRoles },
  },
  /** After the last session of the user: the account was disabled, or deleted (`delete`); or could not be. */
  "db.session.user.deactivate": {
    code: ["TDB09I", "TDB09W"],
    reporters: ["node"],
    fields: { ...dbSession, ...outcome, username: short, delete: z.boolean() },
  },
  /** The client asked the server to cancel the running query. */
  "db.session.cancel": { code: ["TDB11I", "TDB11W"], reporters: ["node"], fields: { ...dbSession, ...outcome } },
});

import { joinableModes } from "../../../core/access/authorize-join.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { writeDocument } from "../../../core/resources/document.ts";
import { type ActiveSession, type JoinMode, type ListedSession, listedSessionDocument, sessionDocument } from "../../../core/resources/session.ts";
import { rolesNamed } from "../access/roles.ts";
import { findActiveSession, listActiveSessions, reportSessions } from "../sessions/active-sessions.ts";
import { holdConnection, releaseConnection } from "../sessions/connections.ts";
import { reportStreams } from "../sessions/reported-streams.ts";
import { type Caller, hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { hasRule } from "./permissions.ts";

export function sessionMethods(api: Api): Handlers<"reportSessions" | "listSessions" | "findSession"> {
  const { context } = api;
  return {
    reportSessions: async ({ process, sessionsJson }, caller) => {
      const host = hostOf(caller);
      context.room.require("events");
      context.quotas.report(
        host,
        sessionsJson.reduce((sum, json) => sum + json.length, 0),
      );
      return { validSeconds: await reportSessions(context, { host: host.id, process, sessionsJson }) };
    },
    listSessions: async (_request, caller) => {
      const mayJoin = await joining(api, caller);
      const seesAll = await hasRule(context, caller, { resource: "session", verb: "list" });
      const seen = (await listActiveSessions(context)).flatMap((session) => {
        const modes = mayJoin(session);
        return seesAll || modes.length > 0 ? [writeDocument(listedSessionDocument, listed(session, modes))] : [];
      });
      return { sessionsJson: seen };
    },
    findSession: async ({ sessionId }) => {
      const found = await findActiveSession(context, sessionId);
      return { sessionJson: found === undefined ? "" : writeDocument(sessionDocument, found) };
    },
  };
}

/** The modes in which the caller may join a session; its own session in every mode. */
async function joining({ context }: Api, caller: Caller): Promise<(session: ActiveSession) => readonly JoinMode[]> {
  if (caller.kind !== "user") return () => [];
  const roles = await rolesNamed(context.storage, caller.identity.roles);
  return (session) => joinableModes(caller.identity, roles, session);
}

function listed({ roles: _roles, process: _process, ...session }: ActiveSession, modes: readonly JoinMode[]): ListedSession {
  return { ...session, modes: [...modes] };
}

/** Maximum streams of one report. */
const maxReported = 1_000;

/** A host holds and releases only its own connections; proxies report what they have sent to hosts. */
export function connectionMethods(api: Api): Handlers<"holdConnection" | "releaseConnection" | "reportStreams"> {
  const { context } = api;
  return {
    reportStreams: async ({ streams }, caller) => {
      if (streams.length > maxReported) throw new PlatformError("invalid", `there must be at most ${maxReported} streams`);
      const reported = streams.map(({ user, connectionId, hostId }) => ({ ...named(user, connectionId), host: requiredHost(hostId) }));
      await reportStreams(context, reported);
      context.streamReporters.reported(hostOf(caller).id);
      return {};
    },
    holdConnection: async ({ user, connectionId, maximum }, caller) => {
      if (maximum < 1) throw new PlatformError("invalid", "maximum must be at least 1");
      return { validSeconds: await holdConnection(context, { ...named(user, connectionId), maximum, host: hostOf(caller).id }) };
    },
    releaseConnection: async ({ user, connectionId }, caller) => {
      await releaseConnection(context, { ...named(user, connectionId), host: hostOf(caller).id });
      return {};
    },
  };
}

function named(user: string, id: string): { user: string; id: string } {
  if (user === "" || user.length > 256 || id === "" || id.length > 64)
    throw new PlatformError("invalid", "user and id are required, with at most 256 and 64 characters");
  return { user, id };
}

function requiredHost(id: string): string {
  if (id === "" || id.length > 64) throw new PlatformError("invalid", "host_id is required, with at most 64 characters");
  return id;
}

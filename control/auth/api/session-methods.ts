import { joinableModes } from "../../../core/access/authorize-join.ts";
import { writeDocument } from "../../../core/resources/document.ts";
import { type ActiveSession, type JoinMode, type ListedSession, listedSessionDocument, sessionDocument } from "../../../core/resources/session.ts";
import { rolesNamed } from "../roles/roles.ts";
import { findActiveSession, listActiveSessions, reportSessions } from "../sessions/active-sessions.ts";
import { type Caller, hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { hasRule } from "./permissions.ts";

type Methods = Handlers<"reportSessions" | "listSessions" | "findSession">;

export function sessionMethods(api: Api): Methods {
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

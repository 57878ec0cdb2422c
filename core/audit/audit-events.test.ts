import { expect, expectTypeOf, test } from "vitest";
import { type AuditFacts, auditCodes, codeOf, mayReport } from "./audit-events.ts";
import type { Reporter } from "./event-spec.ts";

function reported(role: Reporter): string[] {
  const names = auditCodes().map(([event]) => event) as AuditFacts["event"][];
  return names.filter((name) => mayReport(role, name)).sort();
}

test("hosts may report these events and no others", () => {
  expect(reported("node")).toEqual([
    "app.session.chunk",
    "app.session.end",
    "app.session.start",
    "auth",
    "client.disconnect",
    "db.session.cancel",
    "db.session.end",
    "db.session.malformed_packet",
    "db.session.mysql.create_db",
    "db.session.mysql.debug",
    "db.session.mysql.drop_db",
    "db.session.mysql.init_db",
    "db.session.mysql.process_kill",
    "db.session.mysql.refresh",
    "db.session.mysql.shut_down",
    "db.session.mysql.statements.bulk_execute",
    "db.session.mysql.statements.close",
    "db.session.mysql.statements.execute",
    "db.session.mysql.statements.fetch",
    "db.session.mysql.statements.prepare",
    "db.session.mysql.statements.reset",
    "db.session.mysql.statements.send_long_data",
    "db.session.postgres.function",
    "db.session.postgres.statements.bind",
    "db.session.postgres.statements.close",
    "db.session.postgres.statements.execute",
    "db.session.postgres.statements.parse",
    "db.session.query",
    "db.session.start",
    "db.session.user.create",
    "db.session.user.deactivate",
    "exec",
    "host_user.created",
    "host_user.removed",
    "kube.request",
    "port",
    "resize",
    "scp",
    "session.data",
    "session.end",
    "session.join",
    "session.leave",
    "session.recording.failed",
    "session.rejected",
    "session.start",
    "sftp",
    "sftp_summary",
    "subsystem",
    "x11",
  ]);
  expect(reported("proxy")).toEqual(["auth", "cert.refused", "session.connect", "session.data", "session.recording.failed"]);
  expect(reported("auth")).toEqual(["auth"]);
});

const session = { server_id: "s", server_name: "web1", user: "alice", login: "root", sid: "1" };

test.for<[facts: AuditFacts, code: string]>([
  [{ event: "sftp", ...session, action: "rename", path: "/a" }, "TS016I"],
  [{ event: "sftp", ...session, action: "link", path: "/a", error: "no" }, "TS019E"],
  [{ event: "scp", ...session, action: "download", path: "/a" }, "T3004I"],
  [{ event: "scp", ...session, action: "upload", path: "/a", error: "no" }, "T3005E"],
  [{ event: "subsystem", ...session, name: "sftp", error: "no" }, "T3001E"],
  [{ event: "x11", ...session, success: false, error: "no" }, "T3008E"],
  [{ event: "app.create", user: "alice", name: "orders" }, "TAP03I"],
  [{ event: "upgrade.failed", server_id: "s", server_name: "web1", reason: "failed", error: "no" }, "TU002W"],
])("the code of %j is %s", ([facts, code]) => {
  expect(codeOf(facts)).toBe(code);
});

test("facts have exactly the fields of their event", () => {
  expectTypeOf<Extract<AuditFacts, { event: "role.created" }>>().toEqualTypeOf<{
    event: "role.created";
    user: string;
    name: string;
    "addr.remote"?: string | undefined;
  }>();
  expectTypeOf<Extract<AuditFacts, { event: "app.update" }>["name"]>().toBeString();
});

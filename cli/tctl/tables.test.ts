import { expect, test } from "vitest";
import { nodesTable as reachableTable } from "../tsh/ls.ts";
import { auditTable } from "./audit.ts";
import { timeOption } from "./list-options.ts";
import { nodesTable } from "./nodes.ts";
import { tokensTable } from "./tokens.ts";
import { usersTable } from "./users.ts";

const id = "0b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77";
const node = {
  kind: "node",
  version: "v2",
  metadata: { name: id, labels: { env: "prod" } },
  spec: { hostname: "web-1", services: ["ssh"], version: "1.0.0" },
  status: { connected: true },
} as const;

test("tables look as documented", () => {
  expect(reachableTable([{ ...node, spec: { ...node.spec, services: ["ssh"] } }], false)).toBe(
    "Node Name Address  Labels\n--------- -------- --------\nweb-1     ⟵ Tunnel env=prod",
  );
  expect(nodesTable([{ ...node, spec: { ...node.spec, services: ["ssh"] } }]).split("\n")[2]).toBe(`web-1 ${id} connected env=prod 1.0.0`);
  expect(
    usersTable(
      ["bob", "eve"].map((name) => ({
        kind: "user",
        version: "v2",
        metadata: { name },
        spec: { roles: ["access"], traits: { logins: ["root"] } },
        status: { state: "invited" },
      })),
      { eve: 2 },
    ),
  ).toBe("User Roles  Logins State   Passkeys\n---- ------ ------ ------- --------\nbob  access root   invited 0\neve  access root   invited 2");
  const token = {
    kind: "token",
    version: "v2",
    metadata: { name: "t", expires: "2030-01-01T01:00:00Z" },
    spec: { roles: ["node" as const], join_method: "token" },
  } as const;
  const tokens = [{ ...token, spec: { ...token.spec, roles: ["node" as const] } }];
  expect(tokensTable(tokens, new Date("2030-01-01T00:00:00Z")).split("\n")[2]).toBe("t     node any number 2030-01-01T01:00:00Z (in 1h0m0s)");
  expect(tokensTable(tokens, new Date("2031-01-01T00:00:00Z"))).toContain("(expired)");
});

test("audit events show what differs, and refusals as such", () => {
  const event = {
    time: "T",
    event: "user.login",
    code: "T1000W",
    uid: "x",
    cluster_name: "c",
    user: "bob",
    success: false,
    error: "bad code",
    "addr.remote": "1.2.3.4:5",
  };
  expect(auditTable([event]).split("\n")[2]).toBe('T    user.login bob  REFUSED error="bad code" addr.remote=1.2.3.4:5');
  const session = {
    time: "2030-01-01T00:00:00.123Z",
    event: "exec",
    user: "bob",
    server_id: id,
    server_name: "web-1",
    sid: id,
    "addr.remote": "",
    command: "x".repeat(100),
  };
  expect(auditTable([session]).split("\n")[2]).toBe(
    `2030-01-01T00:00:00Z exec  bob  server_name=web-1 command="${"x".repeat(59)}…" sid=${id.slice(0, 8)}`,
  );
});

test.for([
  ["2h", "2030-01-01T10:00:00.000Z"],
  ["-1h30m", "2030-01-01T10:30:00.000Z"],
  ["2029-12-31", "2029-12-31T00:00:00.000Z"],
  ["2029-12-31T10:00:00+02:00", "2029-12-31T08:00:00.000Z"],
] as const)("the time %s", ([text, expected]) => {
  expect(timeOption(text, "--from", new Date("2030-01-01T12:00:00Z"))).toBe(expected);
});

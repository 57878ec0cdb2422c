import fc from "fast-check";
import { expect, test } from "vitest";
import type { HeaderField } from "../../../core/resources/app-headers.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { answeredHeaders, sentHeaders } from "./sent-headers.ts";

const identity = { user: "alice", groups: ["dev", "system:authenticated"] };

function sent(headers: readonly HeaderField[], isProxied = false): readonly HeaderField[] {
  return sentHeaders({ headers, identity, clientIp: "192.0.2.7", isProxied });
}

const own: readonly HeaderField[] = [
  ["X-Forwarded-For", "192.0.2.7"],
  ["Impersonate-User", "alice"],
  ["Impersonate-Group", "dev"],
  ["Impersonate-Group", "system:authenticated"],
];

test.each<readonly [string, readonly HeaderField[]]>([
  ["Connection that names ours", [["Connection", "Impersonate-User, Impersonate-Group, Authorization"]]],
  [
    "an identity of the client",
    [
      ["Impersonate-User", "system:admin"],
      ["impersonate-group", "system:masters"],
      ["Impersonate-Extra-x", "y"],
    ],
  ],
  [
    "names with underscores",
    [
      ["Impersonate_User", "system:admin"],
      ["X_Remote_User", "admin"],
      ["User_Agent", "x"],
    ],
  ],
  [
    "front proxy headers",
    [
      ["X-Remote-User", "admin"],
      ["X-Remote-Group", "system:masters"],
      ["X-Remote-Extra-scopes", "a"],
    ],
  ],
  [
    "credentials of the client",
    [
      ["Authorization", "Bearer stolen"],
      ["Cookie", "a=b"],
      ["Proxy-Authorization", "Basic eA=="],
    ],
  ],
  [
    "addresses that the client states",
    [
      ["X-Forwarded-For", "10.0.0.1"],
      ["X-Real-Ip", "10.0.0.1"],
      ["Forwarded", "for=10.0.0.1"],
    ],
  ],
  ["a token as a sub-protocol", [["Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.c3RvbGVu"]]],
])("%s never reaches the API server", (_, headers) => {
  expect(sent(headers)).toEqual(own);
});

test("what the API server and clients know passes unchanged, ours come last", () => {
  const headers: readonly HeaderField[] = [
    ["Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"],
    ["user-agent", "kubectl/v1.32.0"],
    ["X-Stream-Protocol-Version", "v4.channel.k8s.io"],
    ["X-Stream-Protocol-Version", "v3.channel.k8s.io"],
    ["Kubectl-Command", "kubectl get"],
    ["If-None-Match", '"abc"'],
  ];
  expect(sent(headers)).toEqual([...headers, ...own]);
  expect(sent([["Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.c3RvbGVu, v5.channel.k8s.io"]])[0]).toEqual([
    "Sec-WebSocket-Protocol",
    "v5.channel.k8s.io",
  ]);
});

test("fields for a program behind the API server pass to it alone", () => {
  expect(sent([["Cookie", "a=b"]], true)[0]).toEqual(["Cookie", "a=b"]);
  expect(sent([["Authorization", "Bearer x"]], true)).toEqual(own);
});

test("a length stays, whatever Connection says", () => {
  expect(
    sent([
      ["Connection", "content-length"],
      ["Content-Length", "4"],
    ])[0],
  ).toEqual(["Content-Length", "4"]);
});

test.each(["", "a\r\nImpersonate-User: admin", " padded", "ünicode"])("an identity %j that no header can carry is refused", (user) => {
  expect(() => sentHeaders({ headers: [], identity: { user, groups: [] }, clientIp: "", isProxied: false })).toThrow(
    expect.objectContaining({ code: "denied" }),
  );
});

test("whatever the client sends, exactly our identity goes out", () => {
  const names = fc.oneof(
    fc.constantFrom("Impersonate-User", "impersonate-group", "IMPERSONATE-UID", "Connection", "Authorization", "X-Remote-User", "Impersonate_User"),
    fc.stringMatching(/^[A-Za-z_-]{1,20}$/),
  );
  const values = fc.oneof(fc.constantFrom("Impersonate-User", "system:admin", "close, x-forwarded-for"), fc.string({ maxLength: 20 }));
  fc.assert(
    fc.property(fc.array(fc.tuple(names, values), { maxLength: 12 }), fc.boolean(), (headers, isProxied) => {
      const out = sent(headers, isProxied);
      expect(out.slice(-own.length)).toEqual(own);
      const before = out.slice(0, -own.length).map(([name]) => name.toLowerCase());
      expect(before.filter((name) => /^(impersonate|authorization|x-remote|x-forwarded|connection|upgrade)|_/.test(name))).toEqual([]);
    }),
    { numRuns: someRuns(500) },
  );
});

test("fields of the upstream connection, and the agent's own, do not reach the client", () => {
  const headers: readonly HeaderField[] = [
    ["Connection", "close, x-hop"],
    ["X-Hop", "1"],
    ["Transfer-Encoding", "chunked"],
    ["Platform-Refusal", "mfa_required"],
    ["platform_refusal", "mfa_required"],
    ["Warning", '299 - "old API"'],
    ["Audit-Id", "x"],
  ];
  expect(answeredHeaders(headers)).toEqual([
    ["Warning", '299 - "old API"'],
    ["Audit-Id", "x"],
  ]);
});

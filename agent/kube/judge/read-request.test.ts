import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { KindTable } from "./kind-table.ts";
import { readRequest } from "./read-request.ts";
import { readQuery, readTarget } from "./read-target.ts";
import { knownKinds } from "./testing/known-kinds.ts";

const kinds = knownKinds();

/** `verbs group/resource namespace/name` of an object, `open`, `path`, or `unknown version resource`; with what many objects it answers. */
function meaning(line: string): string {
  const [method = "", target = "", upgrade] = line.split(" ");
  const request = readRequest({ method, target, isUpgrade: upgrade === "upgrade" }, kinds);
  if ("unknown" in request) return `unknown ${request.unknown.groupVersion} ${request.unknown.what}`;
  expect(request.target.raw).toBe(target);
  const { ask, many } = request;
  if (ask.type !== "object") return ask.type;
  const place = ask.isNamespaced ? `${ask.namespace ?? "-"}/${ask.name ?? "-"}` : (ask.name ?? "-");
  return `${ask.verbs.join("+")} ${ask.group}/${ask.resource} ${place}${many === undefined ? "" : ` ${many}`}`;
}

test.for<[line: string, meant: string]>([
  // Methods.
  ["GET /api/v1/pods", "list /pods -/- list"],
  ["GET /api/v1/namespaces/a/pods", "list /pods a/- list"],
  ["HEAD /api/v1/namespaces/a/pods", "list /pods a/- list"],
  ["GET /api/v1/namespaces/a/pods/x", "get /pods a/x"],
  ["POST /api/v1/namespaces/a/pods", "create /pods a/-"],
  ["PUT /api/v1/namespaces/a/pods/x", "update /pods a/x"],
  ["PATCH /api/v1/namespaces/a/pods/x?fieldManager=kubectl&force=true", "patch /pods a/x"],
  ["DELETE /api/v1/namespaces/a/pods/x", "delete /pods a/x"],
  ["DELETE /api/v1/namespaces/a/pods", "deletecollection /pods a/-"],
  ["DELETE /api/v1/namespaces/a/pods?watch=true", "deletecollection /pods a/-"],
  // Watches are lists.
  ["GET /api/v1/pods?watch=true", "watch+list /pods -/- watch"],
  ["GET /api/v1/pods?watch=1&resourceVersion=7", "watch+list /pods -/- watch"],
  ["GET /api/v1/pods?watch", "watch+list /pods -/- watch"],
  ["GET /api/v1/pods?watch=", "watch+list /pods -/- watch"],
  ["GET /api/v1/pods?w%61tch=true", "watch+list /pods -/- watch"],
  ["GET /api/v1/pods?watch=FALSE", "list /pods -/- list"],
  ["GET /api/v1/pods?watch=0", "list /pods -/- list"],
  ["GET /api/v1/pods?watch=true&sendInitialEvents=true", "watch+list /pods -/- watch"],
  ["GET /api/v1/watch/pods", "watch+list /pods -/- watch"],
  ["GET /api/v1/watch/namespaces/a/pods/x", "watch+list /pods a/x watch"],
  // With a name the API server does not watch.
  ["GET /api/v1/namespaces/a/pods/x?watch=true", "get /pods a/x"],
  // Namespaces.
  ["GET /api/v1/namespaces", "list /namespaces - list"],
  ["GET /api/v1/namespaces/a", "get /namespaces a"],
  ["PUT /api/v1/namespaces/a/finalize", "update /namespaces a"],
  ["GET /api/v1/namespaces/a/status", "get /namespaces a"],
  ["GET /api/v1/nodes/n", "get /nodes n"],
  // Subresources, by their own verbs whatever the method.
  ["GET /api/v1/namespaces/a/pods/x/log?follow=true", "get /pods a/x"],
  ["POST /api/v1/namespaces/a/pods/x/exec?command=sh&command=-c upgrade", "exec /pods a/x"],
  ["GET /api/v1/namespaces/a/pods/x/exec?command=sh upgrade", "exec /pods a/x"],
  ["GET /api/v1/namespaces/a/pods/x/exec?command=sh", "exec /pods a/x"],
  ["GET /api/v1/namespaces/a/pods/x/attach upgrade", "exec /pods a/x"],
  ["GET /api/v1/namespaces/a/pods/x/portforward upgrade", "portforward /pods a/x"],
  ["PATCH /api/v1/namespaces/a/pods/x/ephemeralcontainers", "exec /pods a/x"],
  ["PUT /api/v1/namespaces/a/pods/x/ephemeralcontainers", "exec /pods a/x"],
  ["GET /api/v1/namespaces/a/pods/x/ephemeralcontainers", "get /pods a/x"],
  ["POST /api/v1/namespaces/a/pods/x/eviction", "delete /pods a/x"],
  ["POST /api/v1/namespaces/a/pods/x/binding", "update /pods a/x"],
  ["GET /api/v1/namespaces/a/pods/x/proxy", "proxy /pods a/x"],
  ["GET /api/v1/namespaces/a/pods/x:8080/proxy/a/b/?q=;x", "proxy /pods a/x:8080"],
  ["OPTIONS /api/v1/namespaces/a/services/x/proxy/", "proxy /services a/x"],
  ["POST /api/v1/nodes/n/proxy/run/a/x/c?cmd=id", "proxy /nodes n"],
  ["GET /api/v1/nodes/n/proxy/exec/a/x/c upgrade", "proxy /nodes n"],
  ["POST /api/v1/namespaces/a/serviceaccounts/s/token", "create /serviceaccounts a/s"],
  ["PUT /apis/apps/v1/namespaces/a/deployments/d/scale", "update apps/deployments a/d"],
  ["GET /apis/stable.example.com/v1/namespaces/a/crontabs/c/console upgrade", "exec stable.example.com/crontabs a/c"],
  ["GET /apis/custom.metrics.k8s.io/v1beta1/namespaces/a/pods/*/http_requests", "get custom.metrics.k8s.io/pods a/-"],
  // What a user may always ask.
  ["POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "open"],
  ["POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "open"],
  ["POST /apis/authentication.k8s.io/v1/selfsubjectreviews", "open"],
  ["POST /apis/authorization.k8s.io/v1/subjectaccessreviews", "create authorization.k8s.io/subjectaccessreviews -"],
  ["POST /apis/authentication.k8s.io/v1/tokenreviews", "create authentication.k8s.io/tokenreviews -"],
  ["GET /api", "open"],
  ["GET /api/", "open"],
  ["GET /api/v1", "open"],
  ["GET /apis", "open"],
  ["GET /apis/apps", "open"],
  ["GET /apis/apps/v1", "open"],
  ["GET /version", "open"],
  ["GET /healthz", "open"],
  ["GET /readyz/etcd?verbose", "open"],
  ["GET /openapi/v2", "open"],
  ["GET /openapi/v3/apis/apps/v1?hash=1", "open"],
  ["GET /.well-known/openid-configuration", "open"],
  // All else.
  ["GET /", "path"],
  ["POST /api", "path"],
  ["POST /version", "path"],
  ["GET /metrics", "path"],
  ["GET /logs/kube-apiserver.log", "path"],
  ["GET /debug/pprof/profile", "path"],
  ["GET /configz", "path"],
  ["GET /.well-known/other", "path"],
  ["GET /versions", "path"],
  // Kinds, versions and subresources that discovery does not name.
  ["GET /api/v2/pods", "unknown v2 pods"],
  ["GET /apis/new.example.com/v1/things", "unknown new.example.com/v1 things"],
  ["GET /api/v1/namespaces/a/pods/x/other", "unknown v1 pods/other"],
  ["GET /api/v1/proxy/namespaces/a/pods/x", "unknown v1 proxy/a"],
  ["GET /apis/apps/v1/namespaces/a", "unknown apps/v1 namespaces"],
  ["GET /api/v1/watch", "unknown v1 "],
])("%s is %s", ([line, meant]) => {
  expect(meaning(line)).toBe(meant);
});

/** Check 7: nothing of these reaches the API server. */
test.for([
  "//evil/api",
  "//evil/api/v1/pods",
  "/api//v1/pods",
  "/api/v1//pods",
  "/api/v1/pods//",
  "/api/v1/./pods",
  "/api/v1/../v1/secrets",
  "/api/v1/namespaces/a/pods/..",
  "/api/%2e%2e/x",
  "/api/v1/pods;x=1/..;/",
  "/api/v1/..;x=1/v1/pods",
  "/api/v1/namespaces/a/services/x/proxy/.;/a",
  "/api/v1/namespaces/a/services/x/proxy/..%3B/secrets",
  "/api/v1/%2E%2E/secrets",
  "/api/v1/namespaces/a%2fb/pods",
  "/api/v1/namespaces/a%2Fpods%2Fx/pods",
  "/api/v1/pods%5c",
  "/api/v1\\pods",
  "/api/v1/pods%00",
  "/api/v1/namespaces/a/pods/x%00",
  "http://evil/api",
  "https://evil/api/v1/pods",
  "evil.example.com:443",
  "*",
  "",
  "/api/v1/pods#x",
  "/api/v1/pods?x#y",
  "/api/v1/p\u00f6ds",
  "/api/v1/p ods",
  "/api/v1/pods\u007f",
  "/api/v1/pods\r\nX: y",
  "/api/v1/p%zzods",
  "/api/v1/pods%",
  "/api/v1/%ff",
  "/api/v1/namespaces/a/pods/%e4",
  "/api/v1/namespaces/a/pods/x%0ay",
  "/api/v1/namespaces/a/pods/x%25y",
  "/api/v1/namespaces/a/pods/%c3%a9",
  "/api/v1/pods/",
  "/api/v1/namespaces/a/pods/x/log/y",
  "/api/v1/pods?watch=true;x",
  "/api/v1/pods?watch=false&watch=true",
  "/api/v1/pods?watch=false&w%61tch=true",
  "/api/v1/pods?watch=%zz",
  "/api/v1/pods?%ff=1",
  "/api/v1/namespaces/a/services/x/proxy/../../../secrets",
  "/api/v1/namespaces/a/services/x/proxy/%2e%2e/secrets",
  `/api/v1/pods?x=${"y".repeat(20_000)}`,
])("%j is refused", (target) => {
  expect(() => readRequest({ method: "GET", target, isUpgrade: false }, kinds)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test.for(["CONNECT", "TRACE", "get", "PROPFIND", "", "OPTIONS"])("the method %j is refused", (method) => {
  expect(() => readRequest({ method, target: "/api/v1/pods", isUpgrade: false }, kinds)).toThrow(expect.objectContaining({ code: "invalid" }));
});

describe("any target", () => {
  const piece = fc.constantFrom(
    "/",
    "api",
    "apis",
    "v1",
    "apps",
    "namespaces",
    "a",
    "pods",
    "exec",
    "proxy",
    "watch",
    "..",
    ".",
    "%2e",
    "%2F",
    "%41",
    "?",
    "&",
    "watch=true",
    "=",
    ";",
    "#",
    "\\",
    "x",
    ":",
    "*",
    "\u00e9",
    " ",
  );

  test("is understood or refused as invalid; an understood one has one meaning for every reader", () => {
    fc.assert(
      fc.property(fc.constantFrom("GET", "POST", "DELETE"), fc.array(piece, { maxLength: 14 }), (method, parts) => {
        const target = `/${parts.join("")}`;
        try {
          const request = readRequest({ method, target, isUpgrade: false }, kinds);
          // What WHATWG URL makes of it is the same path: nothing in it is collapsed.
          expect(new URL(target, "http://api").pathname).toBe(target.split("?")[0]);
          if ("unknown" in request) return;
          expect(request.target.raw).toBe(target);
          if (request.place !== undefined) expect(target).toContain(request.place.resource);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
          expect(thrown).toMatchObject({ code: "invalid" });
        }
      }),
      { numRuns: someRuns(500) },
    );
  });

  test("of any characters is understood or refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const text = Buffer.from(bytes).toString("latin1");
        try {
          readTarget(text);
          readQuery(text);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "invalid" });
        }
      }),
    );
  });
});

describe("the table of kinds", () => {
  test("learns a kind that was made a second ago, and forgets a group", () => {
    const table = new KindTable();
    const ask = { method: "GET", target: "/apis/new.example.com/v1/namespaces/a/things", isUpgrade: false };
    expect(readRequest(ask, table)).toEqual({ unknown: { groupVersion: "new.example.com/v1", what: "things" } });
    table.set("new.example.com/v1", { kind: "APIResourceList", resources: [{ name: "things", namespaced: true, verbs: [] }] });
    expect(readRequest(ask, table)).toMatchObject({ ask: { type: "object", group: "new.example.com", resource: "things", namespace: "a" } });
    table.remove("new.example.com/v1");
    expect(readRequest(ask, table)).toMatchObject({ unknown: {} });
  });

  test("refuses a document that is not a list of kinds", () => {
    for (const document of [
      null,
      {},
      { resources: [{ name: 7 }] },
      { resources: "x" },
      { resources: Array.from({ length: 6_000 }, () => ({ name: "a", namespaced: true })) },
    ])
      expect(() => new KindTable().set("v1", document)).toThrow(expect.objectContaining({ code: "invalid" }));
  });
});

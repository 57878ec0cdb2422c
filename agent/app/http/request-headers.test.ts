import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalHeader, type HeaderField, isPlatformHeader } from "../../../core/resources/app-headers.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";
import { setHeaders } from "./set-headers.ts";

const facts = { host: "web.test", clientIp: "192.0.2.7", server: "apps-1", assertion: "token", set: [], replaced: [] } as const;

/** Names that a client may try, in any case and with either dash. */
const hostileName = fc
  .constantFrom(
    "Platform-Jwt-Assertion",
    "X-Forwarded-For",
    "X-Forwarded-User",
    "Forwarded",
    "X-Real-IP",
    "Connection",
    "Host",
    "Cookie",
    "Upgrade",
    "TE",
    "X-Other",
    "Content-Length",
  )
  .chain((name) => fc.tuple(fc.constant(name), fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }), fc.boolean()))
  .map(([name, upper, underscore]) => {
    const cased = [...name].map((letter, at) => (upper[at] === true ? letter.toUpperCase() : letter.toLowerCase())).join("");
    return underscore ? cased.replaceAll("-", "_") : cased;
  });
const hostileValue = fc.oneof(
  fc.constant("forged"),
  fc.constant("Platform-Jwt-Assertion, x-forwarded-for, host, content-length"),
  fc.constant("__Host-platform_app=1; a=2"),
);

describe("the headers of a request", () => {
  test("have each of ours exactly once, whatever the client writes", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(hostileName, hostileValue), { maxLength: 12 }), (headers) => {
        const { host, headers: sent } = requestHeaders({ ...facts, headers });
        const ours = sent.filter(([name]) => isPlatformHeader(name));
        const expected: readonly HeaderField[] = [
          ["X-Forwarded-For", "192.0.2.7"],
          ["X-Forwarded-Host", "web.test"],
          ["X-Forwarded-Proto", "https"],
          ["X-Forwarded-Ssl", "on"],
          ["X-Forwarded-Server", "apps-1"],
          ["Platform-Jwt-Assertion", "token"],
        ];
        expect(ours).toEqual(expected);
        expect(host).toBe("web.test");
        const others = sent.filter(([name]) => !isPlatformHeader(name)).map(([name]) => canonicalHeader(name));
        for (const name of ["connection", "host", "upgrade", "te"]) expect(others).not.toContain(name);
        expect(others.filter((name) => name === "cookie").length).toBeLessThanOrEqual(1);
        expect(JSON.stringify(sent.filter(([name]) => canonicalHeader(name) === "cookie"))).not.toContain("__Host-platform_");
        const lengths = headers.filter(([name]) => canonicalHeader(name) === "content-length").length;
        expect(others.filter((name) => name === "content-length")).toHaveLength(lengths);
      }),
      { numRuns: someRuns(200) },
    );
  });

  test("are without those that the settings set, also where the user has no value for them", () => {
    const headers: readonly HeaderField[] = [
      ["x_team", "forged"],
      ["X-Kept", "1"],
    ];
    const { headers: sent } = requestHeaders({ ...facts, headers, replaced: ["X-Team"] });
    expect(sent.map(([name]) => name)).not.toContain("x_team");
    expect(sent).toContainEqual(["X-Kept", "1"]);
  });

  test("that the settings set have a field for each value of a trait", () => {
    const user = { traits: { teams: ["a", "ü"], bad: ["x\ny"] }, assertion: "t.o.k" };
    const templates: readonly HeaderField[] = [
      ["X-Team", "team-{{external.teams}}"],
      ["Authorization", "Bearer {{ internal.jwt }}"],
      ["X-Bad", "{{external.bad}}"],
      ["X-None", "{{internal.none}}"],
      ["X-Plain", "1"],
    ];
    expect(setHeaders(templates, user)).toEqual([
      ["X-Team", "team-a"],
      ["X-Team", "team-\u00c3\u00bc"],
      ["Authorization", "Bearer t.o.k"],
      ["X-Plain", "1"],
    ]);
  });
});

test.for([
  ["a=b; Path=/", "a=b; Path=/"],
  ["a=b; Domain=.web.test; Secure", "a=b; Domain=.web.test; Secure"],
  ["a=b; DOMAIN = test ;Secure", "a=b;Secure"],
  ["a=b; Domain=evil.web.test", "a=b"],
  ["__Host-platform_session=x", undefined],
  ["  __host-Platform_app=x; Path=/", undefined],
  ["=__Host-platform_app=x", undefined],
] as const)("Set-Cookie: %s becomes %s", ([value, expected]) => {
  const headers = responseHeaders({ headers: [["Set-Cookie", value]], host: "web.test:443", redirect: [] });
  expect(headers).toEqual(expected === undefined ? [] : [["Set-Cookie", expected]]);
});

// "cookies" clears those of all hosts below the same domain, the platform's own sessions among them.
test.for([
  ['"cache"', '"cache"'],
  ['"cookies"', undefined],
  ['"*"', '"cache", "storage", "executionContexts"'],
  ["*", undefined],
  ['"cache", "cookies", "storage"', '"cache", "storage"'],
  ['"storage","COOKIES" ,"executionContexts"', '"storage", "executionContexts"'],
  [' "cookies"\t, "*"', '"cache", "storage", "executionContexts"'],
  ['"cookies";a=1, "clientHints"', '"clientHints"'],
  ["cookies, cache", "cache"],
  ["", undefined],
] as const)("Clear-Site-Data: %s becomes %s", ([value, expected]) => {
  const headers = responseHeaders({ headers: [["clear-site-data", value]], host: "web.test", redirect: [] });
  expect(headers).toEqual(expected === undefined ? [] : [["clear-site-data", expected]]);
});

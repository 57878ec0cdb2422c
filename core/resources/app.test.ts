import { describe, expect, test } from "vitest";
import { appSchema } from "./app.ts";
import { appDetails, appFacts } from "./app-details.ts";

const app = (spec: object) => ({ kind: "app", version: "v3", metadata: { name: "web" }, spec: { uri: "http://a.test", ...spec } });
const faults = (spec: object): readonly string[] =>
  appSchema.safeParse(app(spec)).error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`) ?? [];

describe("an application", () => {
  test("takes headers in both spellings, and writes one", () => {
    const headers = ["X-One: a: b", { name: "Host", value: "inside.test" }];
    const parsed = appSchema.parse(app({ rewrite: { headers }, required_apps: ["other"] }));
    expect(parsed.spec.rewrite).toEqual({
      headers: [
        { name: "X-One", value: "a: b" },
        { name: "Host", value: "inside.test" },
      ],
      redirect: [],
      jwt_claims: "roles-and-traits",
    });
    expect(appSchema.parse(parsed)).toEqual(parsed);
  });

  test.for([
    ["Platform-Jwt-Assertion: x"],
    ["platform_anything: x"],
    ["X-Forwarded-For: 1.2.3.4"],
    ["x_forwarded_user: root"],
    ["Forwarded: for=x"],
    ["X-Real-IP: x"],
    ["Connection: close"],
    ["Content-Length: 7"],
    ["Transfer-Encoding: chunked"],
    ["Upgrade: x"],
  ])("cannot set %s", ([header]) => {
    expect(faults({ rewrite: { headers: ["X-Fine: x", header] } })).toEqual([
      expect.stringMatching(/^spec\.rewrite\.headers\.1 sets \S+, which only the platform sets$/),
    ]);
  });

  test.for<[string, object, string]>([
    ["a header without a name", { rewrite: { headers: [": x"] } }, "spec.rewrite.headers.0 has a name that no header can have"],
    [
      "a header with a line feed",
      { rewrite: { headers: [{ name: "X", value: "a\nb" }] } },
      "spec.rewrite.headers.0 has a value that no header can have",
    ],
    ["a header that is a number", { rewrite: { headers: [7] } }, 'spec.rewrite.headers.0 must be "Name: value", or name and value'],
    ["a public address with a port", { public_addr: "a.test:443" }, "spec.public_addr must be a host name in lower case, without a port"],
    [
      "an origin with a path",
      { cors: { allowed_origins: ["https://a.test/x"] } },
      "spec.cors.allowed_origins.0 must be an origin such as https://app.example.com, or *",
    ],
    [
      "two lists of required applications",
      { required_apps: ["a"], required_app_names: ["b"] },
      "spec.required_apps is another spelling of required_app_names; write one of them",
    ],
    [
      "settings of the web for raw TCP",
      { uri: "tcp://a:1", public_addr: "a.test" },
      "spec.public_addr is for web applications: the address begins with tcp://",
    ],
    ["raw TCP without a port", { uri: "tcp://a" }, "spec.uri must be tcp://host:port, or tcp://host with tcp_ports"],
    [
      "a port beside a list of ports",
      { uri: "tcp://a:1", tcp_ports: [{ port: 1 }] },
      "spec.uri must be tcp://host without a port: the ports are in tcp_ports",
    ],
    ["ports of a web application", { tcp_ports: [{ port: 1 }] }, "spec.tcp_ports is for raw TCP: the address does not begin with tcp://"],
    ["an empty list of ports", { uri: "tcp://a", tcp_ports: [] }, "spec.tcp_ports must not be an empty list"],
    [
      "a range that ends before it begins",
      { uri: "tcp://a", tcp_ports: [{ port: 7, end_port: 6 }] },
      "spec.tcp_ports.0.end_port must not be smaller than port",
    ],
  ])("is refused for %s", ([, spec, fault]) => {
    expect(faults(spec)).toEqual([fault]);
  });

  test("may list the ports of raw TCP in place of one port of its address", () => {
    const spec = { uri: "tcp://a", tcp_ports: [{ port: 5432 }, { port: 6000, end_port: 6010 }] };
    expect(appSchema.parse(app(spec)).spec).toEqual(spec);
  });

  test("states facts for the proxies, which read them back", () => {
    const cors = { allowed_origins: ["https://a.test"], allowed_methods: ["GET"], allowed_headers: [], exposed_headers: [], max_age: 60 };
    const facts = { scheme: "http", uri: "http://10.0.0.5:3000", publicAddr: "web.example.com", requiredApps: ["a", "b"], cors } as const;
    expect(appFacts({ details: appDetails(facts) })).toEqual(facts);
    const tcpPorts = [{ port: 5432 }, { port: 6000, end_port: 6010 }];
    const several = { scheme: "tcp", uri: "tcp://10.0.0.5", requiredApps: [], tcpPorts } as const;
    expect(appDetails(several).tcp_ports).toBe("5432,6000-6010");
    expect(appFacts({ details: appDetails(several) })).toEqual(several);
    expect(appFacts({ details: { tcp_ports: "7-" } })).toEqual({ scheme: "tcp", requiredApps: [], tcpPorts: undefined });
    expect(appFacts({})).toEqual({ scheme: "tcp", requiredApps: [] });
    expect(appFacts({ details: { scheme: "x", cors: "{" } })).toEqual({ scheme: "tcp", requiredApps: [], cors: undefined });
  });
});

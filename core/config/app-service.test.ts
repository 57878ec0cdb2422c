import { expect, test } from "vitest";
import { parseConfig } from "./parse-config.ts";

const head = "version: v3\nplatform:\n  nodename: one\n  proxy_server: a.test\napp_service:\n";

const faults = (text: string): readonly string[] => parseConfig(head + text).problems.map(({ line, text: what }) => `${line ?? "-"}: ${what}`);

test("an application of the file has all settings of the reference", () => {
  const text = `  debug_app: yes
  target_policy: { deny: [10.0.0.0/8] }
  apps:
    - name: web
      description: x
      uri: https://web.test:8443/start
      public_addr: web.example.com
      insecure_skip_verify: yes
      required_apps: [other]
      rewrite:
        redirect: [inside.test]
        headers:
          - "X-One: {{external.one}}"
          - { name: Authorization, value: "Bearer {{internal.jwt}}" }
        jwt_claims: roles
      cors: { allowed_origins: ["https://a.test"], allow_credentials: yes, max_age: 60 }
    - { name: pg, uri: tcp://db.test, tcp_ports: [{ port: 5432 }, { port: 6000, end_port: 6010 }] }
`;
  expect(faults(text)).toEqual([]);
});

test.for<[string, string, string]>([
  [
    "a reserved header",
    `  apps:\n    - name: web\n      uri: http://a.test\n      rewrite:\n        headers:\n          - "X-Fine: x"\n          - "X_Forwarded_For: x"\n`,
    "12: app_service.apps.0.rewrite.headers.1 sets X_Forwarded_For, which only the platform sets",
  ],
  [
    "a misspelt setting",
    "  apps:\n    - { name: web, uri: http://a.test, public_address: a.test }\n",
    "7: app_service.apps.0.public_address is not a known key; did you mean public_addr?",
  ],
  [
    "an address that is none",
    "  apps:\n    - { name: web, uri: web }\n",
    "7: app_service.apps.0.uri must be tcp://host:port, http://host:port, https://host:port or unix:///path",
  ],
  [
    "raw TCP without a port",
    "  apps:\n    - { name: pg, uri: tcp://db.test }\n",
    "7: app_service.apps.0.uri must be tcp://host:port, or tcp://host with tcp_ports",
  ],
  [
    "a port that no host has",
    "  apps:\n    - { name: pg, uri: tcp://db.test, tcp_ports: [{ port: 70000 }] }\n",
    "7: app_service.apps.0.tcp_ports.0.port must be a port, from 1 to 65535",
  ],
  [
    "a prefix that is none",
    "  target_policy: { allow: [x] }\n",
    "6: app_service.target_policy.allow.0 must be an IP address or a prefix such as 10.0.0.0/8",
  ],
  [
    "two policies",
    "  target_policy: { allow: [10.0.0.0/8], deny: [10.0.0.0/9] }\n",
    "6: app_service.target_policy must have allow or deny, not both",
  ],
  [
    "two applications named dumper",
    "  debug_app: yes\n  apps:\n    - { name: dumper, uri: http://a.test }\n",
    "6: app_service.debug_app offers an application with the name dumper, which apps has too; rename that one",
  ],
])("%s is an error with its line", ([, text, fault]) => {
  expect(faults(text)).toEqual([fault]);
});

test("a template that cannot be read is an error with its line", () => {
  const text = `  apps:\n    - name: web\n      uri: http://a.test\n      rewrite: { headers: ["X: {{what}}"] }\n`;
  expect(faults(text)).toEqual([expect.stringMatching(/^9: app_service\.apps\.0\.rewrite\.headers\.0 holds a template that cannot be read/)]);
});

import { expect, test } from "vitest";
import { configSnippet, joinLines } from "./join-text.ts";
import { parseConfig } from "./parse-config.ts";

test("the snippet of a join token is a whole configuration", () => {
  expect(configSnippet({ secret: "abc", caPins: ["sha256:1"], proxyAddress: "p:443", roles: ["node"] })).toContain(
    "  auth_token: abc\n  ca_pin: sha256:1\n  proxy_server: p:443\n",
  );
  expect(configSnippet({ secret: "1e5", caPins: ["a", "b"], proxyAddress: "p:443", roles: ["node"] })).toContain(
    '  auth_token: "1e5"\n  ca_pin:\n    - a\n    - b\n',
  );
  expect(configSnippet({ secret: "abc", caPins: ["a"], proxyAddress: "p:443", roles: ["proxy"] })).toContain("  auth_server: <auth host>:3025\n");
});

test("the snippet of a token for an application has that application", () => {
  const facts = { secret: "abc", caPins: ["a"], proxyAddress: "p:443", roles: ["app"], app: { name: "grafana", uri: "http://localhost:3000" } };
  const text = configSnippet(facts);
  expect(text).toContain('app_service:\n  enabled: yes\n  apps:\n    - name: grafana\n      uri: "http://localhost:3000"');
  expect(parseConfig(text).problems).toEqual([]);
});

test("a token for hosts comes with the lines to type on one, any other with none", () => {
  const facts = { secret: "it's", caPins: ["sha256:1", "sha256:2"], proxyAddress: "p.test:443", roles: ["node"] };
  expect(joinLines(facts)).toEqual([
    "curl -fsSL https://p.test/scripts/install.sh | sh -s -- auto enterprise",
    "platform configure --roles=node --proxy=p.test:443 --token='it'\\''s' --ca-pin=sha256:1,sha256:2 --output=file",
    "systemctl enable --now platform",
  ]);
  expect(joinLines({ ...facts, proxyAddress: "p.test:8443" })[0]).toContain("https://p.test:8443/scripts");
  expect(joinLines({ ...facts, roles: ["node", "proxy"] })).toEqual([]);
});

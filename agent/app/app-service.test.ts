import { expect, test } from "vitest";
import { appServiceSchema } from "../../core/config/app-service.ts";
import { appFacts } from "../../core/resources/app-details.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { serviceDeps } from "../../test/inside/service-deps.ts";
import { prepareApps } from "./app-service.ts";

const resource = (name: string, spec: object) => ({
  name,
  json: JSON.stringify({ kind: "app", version: "v3", metadata: { name, labels: { env: "test" } }, spec }),
});

test("an agent states what proxies need to know about its applications, and offers no socket that its file does not list", async () => {
  const authorities = await insideAuthorities();
  const { deps } = serviceDeps({ authorities, credentials: await authorities.host("apps-1"), node: { name: "apps-1", labels: {} } });
  const config = appServiceSchema.parse({
    debug_app: "yes",
    apps: [
      { name: "raw", uri: "tcp://127.0.0.1:1" },
      {
        name: "web",
        uri: "http://127.0.0.1:1",
        public_addr: "web.example.com",
        required_apps: ["raw"],
        cors: { allowed_origins: ["https://a.test"] },
      },
      { name: "socket", uri: "unix:///run/own.sock" },
    ],
    resources: [{ labels: { env: "test" } }],
    target_policy: { unix: ["/run/listed.sock"] },
  });
  const service = prepareApps({
    apps: config.apps,
    hasDumper: config.debug_app,
    matchers: config.resources.map(({ labels }) => labels),
    targetPolicy: config.target_policy,
  });
  const over = new AbortController();
  const listResources = async () => [resource("listed", { uri: "unix:///run/listed.sock" }), resource("docker", { uri: "unix:///run/docker.sock" })];
  const { offered } = await service.open({ ...deps, listResources }, over.signal);
  await offered?.settled;
  const current = offered?.current() ?? [];
  over.abort();
  expect(current.map(({ name }) => name)).toEqual(["raw", "web", "socket", "dumper", "listed"]);
  expect(appFacts(current[0] ?? {})).toEqual({ scheme: "tcp", uri: "tcp://127.0.0.1:1", requiredApps: [] });
  expect(appFacts(current[1] ?? {})).toMatchObject({
    scheme: "http",
    publicAddr: "web.example.com",
    requiredApps: ["raw"],
    cors: { allowed_origins: ["https://a.test"] },
  });
  expect(current[3]?.labels).toEqual({ "platform/debug": "yes" });
});

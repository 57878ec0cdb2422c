import { expect, test } from "vitest";
import { parseKubeSettings } from "./kube-settings.ts";
import { runKubeUpdater } from "./run-kube-updater.ts";

const least = ["--agent-name=agent", "--proxy-address=proxy.example.com:443", "--public-key=/k.pem"];

test("the least that is needed, and what follows from it", () => {
  expect(parseKubeSettings(least)).toEqual({
    name: "agent",
    namespace: undefined,
    container: "platform",
    kind: undefined,
    proxy: { host: "proxy.example.com", port: 443 },
    endpoint: { host: "proxy.example.com", port: 443, path: "/v1/webapi/automaticupgrades/channel/default", channel: "default" },
    mode: "apply",
    minimum: undefined,
    baseImage: undefined,
    publicKeys: ["/k.pem"],
    pullCredentials: undefined,
    plainRegistries: [],
    ca: undefined,
    metrics: { host: "0.0.0.0", port: 8080 },
    health: { host: "0.0.0.0", port: 8081 },
    logLevel: "info",
  });
});

test("every flag", () => {
  const more = [
    "--channel=stable/cloud",
    "--agent-kind=Deployment",
    "--mode=suggest",
    "--minimum-version=v1.2.0",
    "--base-image=mirror.example.com/p",
  ];
  const rest = [
    "--public-key=/k2.pem",
    "--registry-plain=10.0.0.1:5000",
    "--metrics-addr=:9090",
    "--log-level=DEBUG",
    "--version-server=https://v.example.com/channel",
  ];
  expect(parseKubeSettings([...least, ...more, ...rest])).toMatchObject({
    endpoint: { host: "v.example.com", path: "/channel", channel: "stable/cloud" },
    kind: "Deployment",
    mode: "suggest",
    minimum: "1.2.0",
    baseImage: "mirror.example.com/p",
    publicKeys: ["/k.pem", "/k2.pem"],
    plainRegistries: ["10.0.0.1:5000"],
    metrics: { host: "0.0.0.0", port: 9090 },
    logLevel: "debug",
  });
  expect(parseKubeSettings([...least, "--insecure-no-verify"]).publicKeys).toBeUndefined();
  expect(parseKubeSettings([...least, "--channel=stable/cloud"]).endpoint.path).toBe("/v1/webapi/automaticupgrades/channel/stable/cloud");
});

test.for([
  [[], "agent-name"],
  [["--agent-name=a"], "proxy-address"],
  [["--agent-name=a", "--proxy-address=p:1"], "public-key"],
  [[...least, "--agent-name=../x"], "agent-name"],
  [[...least, "--agent-namespace=A b"], "agent-namespace"],
  [[...least, "--mode=both"], "mode"],
  [[...least, "--agent-kind=pod"], "agent-kind"],
  [[...least, "--minimum-version=soon"], "minimum-version"],
  [[...least, "--base-image=p:1.0.0"], "base-image"],
  [[...least, "--version-server=/nowhere"], "version-server"],
  [[...least, "--log-level=loud"], "log-level"],
  [[...least, "--what"], "--what"],
  [[...least, "extra"], "extra"],
] as const)("%j is refused, and names %s", async ([args, flag]) => {
  expect(() => parseKubeSettings(args)).toThrow(expect.objectContaining({ code: "invalid", message: expect.stringContaining(flag) }));
  const lines: string[] = [];
  const terminal = { out: () => {}, err: (line: string) => void lines.push(line), signal: new AbortController().signal };
  expect(await runKubeUpdater(args, {}, terminal)).toBe(2);
  expect(lines[0]).toContain(flag);
});

test("outside of a cluster it does not start, and says why", async () => {
  const lines: string[] = [];
  const terminal = { out: () => {}, err: (line: string) => void lines.push(line), signal: new AbortController().signal };
  expect(await runKubeUpdater(least, {}, terminal)).toBe(1);
  expect(lines.join()).toContain("KUBERNETES_SERVICE_HOST");
});

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type EndpointOptions, writeEndpoint } from "./endpoint-file.ts";

let configDir: string;
beforeEach(() => {
  configDir = mkdtempSync(join(tmpdir(), "platform-endpoint-"));
});
afterEach(() => rmSync(configDir, { recursive: true }));

const read = (name: string): string => readFileSync(join(configDir, name), "utf8");
const answer =
  (text: string, status = 200) =>
  async () => ({ status, body: Buffer.from(text) });
const options = (get: EndpointOptions["get"], proxies = ["proxy.example.com:443"]): EndpointOptions => ({
  configDir,
  proxies: async () => proxies,
  hostCa: ["PEM\n"],
  get,
});
const endpoint = "proxy.example.com:443/v1/webapi/automaticupgrades/channel/default";

test("the endpoint is written once it has answered with a version, readable for everybody", async () => {
  const asked: string[] = [];
  const get = async (proxy: string, path: string) => {
    asked.push(`${proxy}${path}`);
    return { status: 200, body: Buffer.from("v1.2.3\n") };
  };
  expect(await writeEndpoint(options(get))).toBe(endpoint);
  expect(read("endpoint")).toBe(`${endpoint}\n`);
  expect(statSync(join(configDir, "endpoint")).mode & 0o022).toBe(0);
  expect(() => read("ca")).toThrow("ENOENT");
  expect(await writeEndpoint(options(get))).toBeUndefined();
  expect(asked).toEqual([`${endpoint}/version`]);
});

test("an existing endpoint is never overwritten, and no request is made; an empty file is filled", async () => {
  writeFileSync(join(configDir, "endpoint"), "mine.example.com/channel\n");
  expect(await writeEndpoint(options(() => expect.unreachable()))).toBeUndefined();
  writeFileSync(join(configDir, "endpoint"), "");
  expect(await writeEndpoint(options(answer("none")))).toBe(endpoint);
});

test.for([
  ["<html>Please log in</html>", 200],
  ["", 200],
  ["v1.2.3", 302],
  ["v1.2.3", 404],
  [`v1.2.3${" ".repeat(2000)}`, 200],
] as const)("%j with status %i is not a version: nothing is written", async ([text, status]) => {
  await expect(writeEndpoint(options(answer(text, status)))).rejects.toMatchObject({ code: "unavailable" });
  expect(() => read("endpoint")).toThrow("ENOENT");
});

test("the next proxy is asked when one does not answer", async () => {
  const get: EndpointOptions["get"] = async (proxy) => {
    if (proxy === "a:1") throw new PlatformError("timeout", "no answer");
    return { status: 200, body: Buffer.from("v1.0.0") };
  };
  expect(await writeEndpoint(options(get, ["a:1", "proxy.example.com:443"]))).toBe(endpoint);
});

test("an endpoint that only the cluster's own authority vouches for is written with that authority", async () => {
  const get: EndpointOptions["get"] = async (_proxy, _path, ca) => {
    if (ca === undefined) throw new PlatformError("unauthenticated", "self-signed certificate");
    return { status: 200, body: Buffer.from("v1.0.0") };
  };
  await writeEndpoint(options(get));
  expect([read("ca"), read("endpoint")]).toEqual(["PEM\n", `${endpoint}\n`]);
});

import { describe, expect, test } from "vitest";
import { UpgradeError } from "../upgrade-error.ts";
import { childEnvironment } from "./child-environment.ts";

const repository = { host: "packages.example.com", port: 443 };
const env = { HTTPS_PROXY: "http://agent:p%40ss%3Aword@proxy.example.com:3128", SECRET: "s", http_proxy: "http://other:1" };
const proxied = (found: Record<string, string>): string[] =>
  Object.keys(found)
    .filter((name) => /proxy/i.test(name))
    .sort();

describe("the environment of a package manager", () => {
  test("has the proxy that our rules choose, encoded, and no other variable of ours", () => {
    const found = childEnvironment(env, repository);
    expect(found.https_proxy).toBe("http://agent:p%40ss%3Aword@proxy.example.com:3128");
    expect(found.http_proxy).toBe(found.https_proxy);
    expect(found.HTTPS_PROXY).toBe(found.https_proxy);
    expect(found.SECRET).toBeUndefined();
  });

  test.for([
    ["the repository's host is in NO_PROXY", { ...env, NO_PROXY: ".example.com" }, repository],
    ["only its port is in NO_PROXY", { ...env, NO_PROXY: "packages.example.com:443" }, repository],
    ["the repository is on this machine", env, { host: "127.0.0.1", port: 80 }],
    ["the repository is not an HTTP server", env, undefined],
    ["no proxy is set", { PATH: "/bin" }, repository],
  ] as const)("has no proxy when %s", ([, given, address]) => {
    expect(proxied(childEnvironment(given, address))).toEqual([]);
  });

  test("has the programs of an administrator, for any PATH of the caller: dpkg needs them", () => {
    for (const path of ["/usr/local/bin:/usr/bin:/bin:/usr/games", "", undefined]) {
      expect(childEnvironment({ PATH: path }, undefined).PATH?.split(":")).toEqual(expect.arrayContaining(["/usr/sbin", "/sbin", "/usr/bin"]));
    }
  });

  test("writes an IPv6 proxy in brackets", () => {
    expect(childEnvironment({ HTTPS_PROXY: "https://[fd00::1]:3129" }, repository).https_proxy).toBe("https://[fd00::1]:3129");
  });

  test("is refused with an invalid proxy, without repeating the value", () => {
    let thrown: unknown;
    try {
      childEnvironment({ HTTPS_PROXY: "http://u:secret@localhost:3128" }, repository);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(UpgradeError);
    expect(thrown).toMatchObject({ reason: "not_configured" });
    expect(String(thrown)).not.toContain("secret");
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { childEnvironment, repositoryAddress, waitWhileBusy } from "./host-command.ts";

describe("the repository's address", () => {
  test.for([
    [
      "deb [signed-by=/etc/apt/keyrings/platform.asc arch=amd64] https://proxy.example.com/packages/apt stable/v1 main",
      { host: "proxy.example.com", port: 443 },
    ],
    ["# deb https://old.example.com/apt stable main\ndeb http://10.1.2.3:8080/apt stable/v1 main\n", { host: "10.1.2.3", port: 8080 }],
    ["Types: deb\nURIs: https://[fd00::1]:3080/packages/apt\nSuites: stable/v1\n", { host: "fd00::1", port: 3080 }],
    [
      "[platform]\nname=platform\nbaseurl=https://proxy.example.com:3080/packages/yum/stable/v1/$basearch\n",
      { host: "proxy.example.com", port: 3080 },
    ],
    ["[platform]\nbaseurl = http://a.example/yum/$basearch", { host: "a.example", port: 80 }],
    ["[platform]\nbaseurl=file:///srv/yum", undefined],
    ["", undefined],
    ["deb nonsense", undefined],
  ] as const)("in %j", ([text, address]) => {
    expect(repositoryAddress(text)).toEqual(address);
  });

  test("is searched safely in any text", () => {
    const line = fc.tuple(fc.constantFrom("deb ", "URIs: ", "baseurl=", "deb [", ""), fc.string()).map(([before, rest]) => before + rest);
    fc.assert(fc.property(fc.array(line), (lines) => void repositoryAddress(lines.join("\n"))));
  });
});

const options = { log: silentLog, signal: new AbortController().signal, waitMs: 200, pauseMs: 5 };
const busy = new UpgradeError("package_manager_busy", "apt runs");

describe("while another program holds the package manager", () => {
  test("it retries", async () => {
    let tries = 0;
    const attempt = (): Promise<string> => (++tries < 3 ? Promise.reject(busy) : Promise.resolve("done"));
    expect(await waitWhileBusy(attempt, options)).toBe("done");
    expect(tries).toBe(3);
  });

  test("the wait ends", async () => {
    await expect(waitWhileBusy(() => Promise.reject(busy), { ...options, waitMs: 20 })).rejects.toBe(busy);
  });

  test("the signal ends it", async () => {
    const life = new AbortController();
    const waiting = waitWhileBusy(() => Promise.reject(busy), { ...options, signal: life.signal, waitMs: 60_000, pauseMs: 30_000 });
    life.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow();
  });

  test("other failures are not repeated", async () => {
    let tries = 0;
    const failure = new UpgradeError("no_space", "full");
    const attempt = (): Promise<never> => {
      tries += 1;
      return Promise.reject(failure);
    };
    await expect(waitWhileBusy(attempt, options)).rejects.toBe(failure);
    expect(tries).toBe(1);
  });
});

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

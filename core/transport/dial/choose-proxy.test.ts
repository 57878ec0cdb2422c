import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { webAddress } from "../../../test/fuzz/web-address.ts";
import { PlatformError } from "../../errors/platform-error.ts";
import { chooseProxy, type Env } from "./choose-proxy.ts";

const target = { host: "control.example.com", port: 3024 };

/** The proxy as one line, or `direct`. */
function chosen(env: Env, to = target): string {
  const route = chooseProxy(to, env);
  if (route.kind === "direct") return "direct";
  const { scheme, host, port, credentials } = route.url;
  return `${scheme} ${credentials === undefined ? "" : `${credentials.user}|${credentials.password}@`}${host} ${port}`;
}

function refusal(env: Env): PlatformError {
  try {
    chooseProxy(target, env);
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown;
    throw thrown;
  }
  throw new Error("not refused");
}

describe("chooseProxy", () => {
  test.for<readonly [env: Env, expected: string]>([
    [{}, "direct"],
    [{ HTTPS_PROXY: "" }, "direct"],
    [{ HTTPS_PROXY: "  " }, "direct"],
    [{ HTTPS_PROXY: "http://p.test:3128" }, "http p.test 3128"],
    [{ https_proxy: "http://p.test:3128" }, "http p.test 3128"],
    [{ HTTP_PROXY: "http://p.test:3128" }, "http p.test 3128"],
    [{ http_proxy: "http://p.test:3128" }, "http p.test 3128"],
    [{ HTTPS_PROXY: "a.test:1", https_proxy: "b.test:1", HTTP_PROXY: "c.test:1", http_proxy: "d.test:1" }, "http a.test 1"],
    [{ https_proxy: "b.test:1", HTTP_PROXY: "c.test:1" }, "http b.test 1"],
    [{ HTTP_PROXY: "c.test:1", http_proxy: "d.test:1" }, "http c.test 1"],
    [{ HTTPS_PROXY: "", https_proxy: "b.test:1" }, "http b.test 1"],
    [{ HTTPS_PROXY: " p.test:3128 " }, "http p.test 3128"],
    [{ HTTPS_PROXY: "p.test:3128" }, "http p.test 3128"],
    [{ HTTPS_PROXY: "p.test" }, "http p.test 80"],
    [{ HTTPS_PROXY: "http://p.test" }, "http p.test 80"],
    [{ HTTPS_PROXY: "https://p.test" }, "https p.test 443"],
    [{ HTTPS_PROXY: "https://p.test:3129/" }, "https p.test 3129"],
    [{ HTTPS_PROXY: "HTTP://P.test:3128" }, "http P.test 3128"],
    [{ HTTPS_PROXY: "10.1.2.3:3128" }, "http 10.1.2.3 3128"],
    [{ HTTPS_PROXY: "http://[fd00::1]:3128" }, "http fd00::1 3128"],
    [{ HTTPS_PROXY: "[fd00::1]:3128" }, "http fd00::1 3128"],
    [{ HTTPS_PROXY: "http://agent:secret@p.test:1" }, "http agent|secret@p.test 1"],
    [{ HTTPS_PROXY: "agent:secret@p.test:1" }, "http agent|secret@p.test 1"],
    [{ HTTPS_PROXY: "http://agent:p%40ss%3Aword@p.test:1" }, "http agent|p@ss:word@p.test 1"],
    [{ HTTPS_PROXY: "http://us%40er:p%2Fw%25@p.test:1" }, "http us@er|p/w%@p.test 1"],
    [{ HTTPS_PROXY: "http://agent:p@ss:word@p.test:1" }, "http agent|p@ss:word@p.test 1"],
    [{ HTTPS_PROXY: "http://agent:%C3%A4@p.test:1" }, "http agent|ä@p.test 1"],
    [{ HTTPS_PROXY: "http://agent@p.test:1" }, "http agent|@p.test 1"],
    [{ HTTPS_PROXY: "http://agent:@p.test:1" }, "http agent|@p.test 1"],
    [{ HTTPS_PROXY: "http://@p.test:1" }, "http p.test 1"],
  ])("%j is %s", ([env, expected]) => {
    expect(chosen(env)).toBe(expected);
  });

  test.for(["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "127.1", "0x7f000001", "::1", "::ffff:127.0.0.1"])(
    "the target %s is reached without a proxy, even when the proxy is nonsense",
    (host) => {
      expect(chosen({ HTTPS_PROXY: "nonsense://" }, { host, port: 3080 })).toBe("direct");
    },
  );

  test.for([
    ["http://localhost:3128"],
    ["localhost:3128"],
    ["LocalHost.:3128"],
    ["127.0.0.1:3128"],
    ["https://127.0.0.1:3128"],
    ["http://127.8.8.8:3128"],
    ["http://127.1:3128"],
    ["http://2130706433:3128"],
    ["http://0x7f.1:3128"],
    ["http://0.0.0.0:3128"],
    ["http://[::1]:3128"],
    ["http://[0:0:0:0:0:0:0:1]:3128"],
    ["http://[::ffff:127.0.0.1]:3128"],
    ["http://[::]:3128"],
    ["http://user:secret@localhost:3128"],
  ])("the proxy %s is refused, with the alternative", ([value]) => {
    const error = refusal({ HTTPS_PROXY: value });
    expect([error.code, error.message]).toEqual(["invalid", "HTTPS_PROXY names localhost or a loopback address as the proxy, which is not allowed"]);
    expect(error.hint).toBe("use the proxy's DNS name or its private IP address instead");
  });

  test.for([
    ["socks5://p.test:1080", "scheme"],
    ["ftp://p.test", "scheme"],
    ["://p.test", "scheme"],
    ["http://", "not the address"],
    ["http://:3128", "not the address"],
    ["http://p.test:0", "port"],
    ["http://p.test:65536", "port"],
    ["http://p.test:99999999999999999999", "port"],
    ["http://p.test:http", "not the address"],
    ["http://p.test:3128/path", "not the address"],
    ["http://p.test:3128?x", "not the address"],
    ["http://p .test:3128", "not the address"],
    ["http://p.test:31\n28", "not the address"],
    ["http://fd00::1:3128", "not the address"],
    ["http://[p.test]:3128", "not the address"],
    ["http://[abc]:3128", "brackets"],
    ["http://[fd00::1:3128", "not the address"],
    ["http://1.2.3.4.5:3128", "host"],
    ["http://10.1.2.300:3128", "host"],
    ["http://bücher.test:3128", "not the address"],
    ["http://agent:hunter2-%zz@p.test:3128", "percent-encoding"],
    ["http://agent:hunter2-%E4@p.test:3128", "percent-encoding"],
    ["http://agent:hunter2-%@p.test:3128", "percent-encoding"],
    ["http://agent:hunter2-/x@p.test:3128", "encoded"],
    ["http://agent:hunter2-#x@p.test:3128", "encoded"],
    ["http://agent:hunter2-%00@p.test:3128", "control characters"],
    ["http://agent:hunter2-%0D%0AX:y@p.test:3128", "control characters"],
    ["http://a%3Ab:hunter2@p.test:3128", "colon"],
    ["http://agent:hunter2", "not the address"],
    ["http://agent:hunter2@", "not the address"],
    [`http://${"x".repeat(5000)}`, "longer"],
  ])("%s is refused without being repeated", ([value, why]) => {
    const error = refusal({ HTTPS_PROXY: value });
    expect(error.code).toBe("invalid");
    expect(error.message).toMatch(/^HTTPS_PROXY /);
    expect(error.message).toContain(why);
    expect(everythingIn(error)).not.toContain("hunter2");
  });

  test("the default configuration sends 3024 and 3080 through the proxy, and NO_PROXY=host:3024 excludes just that one", () => {
    const env = { HTTPS_PROXY: "http://p.test:3128" };
    expect([3024, 3080].map((port) => chooseProxy({ ...target, port }, env).kind)).toEqual(["proxy", "proxy"]);
    const one = { ...env, NO_PROXY: "control.example.com:3024" };
    expect([3024, 3080].map((port) => chooseProxy({ ...target, port }, one).kind)).toEqual(["direct", "proxy"]);
  });

  test.for<readonly [env: Env, why: string]>([
    [{}, "neither HTTPS_PROXY nor HTTP_PROXY is set"],
    [{ https_proxy: "p.test:1" }, "https_proxy is set"],
    [{ HTTPS_PROXY: "u:secret@p.test:1", NO_PROXY: "x" }, "HTTPS_PROXY is set, and no entry of NO_PROXY matches"],
    [{ HTTPS_PROXY: "p.test:1", NO_PROXY: "a:b" }, 'HTTPS_PROXY is set, and no entry of NO_PROXY matches; entries not understood: ["a:b"]'],
    [{ HTTPS_PROXY: "p.test:1", no_proxy: ".example.com" }, 'no_proxy has the entry ".example.com"'],
    [{ HTTPS_PROXY: "p.test:1", NO_PROXY: "x", no_proxy: ".example.com" }, "HTTPS_PROXY is set, and no entry of NO_PROXY matches"],
    [{ HTTPS_PROXY: "http://localhost", NO_PROXY: "*" }, 'NO_PROXY has the entry "*"'],
  ])("%j says why: %s", ([env, why]) => {
    expect(chooseProxy(target, env).why).toBe(why);
  });

  test.for<readonly [env: Env, instead: RegExp | undefined]>([
    [{}, /^behind an HTTP proxy, set HTTPS_PROXY .*\/etc\/default\/platform/],
    [{ HTTPS_PROXY: "p.test:1", no_proxy: "x, .example.com" }, /remove the entry "\.example\.com" from no_proxy$/],
    [{ HTTPS_PROXY: "p.test:1" }, undefined],
  ])("%j: the hint when it does not work", ([env, instead]) => {
    const route = chooseProxy(target, env);
    const given = route.kind === "direct" ? route.instead : undefined;
    if (instead === undefined) expect(given).toBeUndefined();
    else expect(given).toMatch(instead);
  });

  test("any bytes as values give a route or a PlatformError", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: anyCharacter }), webAddress, fc.domain(), fc.ipV6());
    fc.assert(
      fc.property(text, fc.option(text, { nil: undefined }), text, (proxy, exceptions, host) => {
        try {
          chooseProxy({ host, port: 1 }, { HTTPS_PROXY: proxy, NO_PROXY: exceptions });
        } catch (thrown) {
          if (!(thrown instanceof PlatformError)) throw thrown;
          expect(thrown.code).toBe("invalid");
        }
      }),
    );
  });

  test("the password never appears in an error, however it was mistyped", () => {
    const around = fc.string({ unit: fc.constantFrom("@", ":", "/", "%", "#", "?", "\\", " ", "\r", "[", "]", "a", "%4", "://"), maxLength: 8 });
    fc.assert(
      fc.property(around, around, around, fc.constantFrom("", "http://", "https://", "socks5://"), (before, after, tail, scheme) => {
        try {
          chooseProxy(target, { HTTPS_PROXY: `${scheme}agent:${before}hunter2${after}@p.test${tail}` });
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
          expect(everythingIn(thrown as PlatformError)).not.toContain("hunter2");
        }
      }),
    );
  });

  test("every user and password survives percent-encoding", () => {
    const printable = fc.string({ unit: "grapheme", maxLength: 40 }).filter((text) => !/\p{Cc}/u.test(text) && text.isWellFormed());
    fc.assert(
      fc.property(
        printable.filter((user) => user !== "" && !user.includes(":")),
        printable,
        (user, password) => {
          const value = `http://${encodeURIComponent(user)}:${encodeURIComponent(password)}@p.test:3128`;
          expect(chosen({ HTTPS_PROXY: value })).toBe(`http ${user}|${password}@p.test 3128`);
        },
      ),
    );
  });
});

function everythingIn(error: PlatformError): string {
  return `${error.message} ${error.hint} ${String(error.cause)} ${error.stack} ${JSON.stringify(error)}`;
}

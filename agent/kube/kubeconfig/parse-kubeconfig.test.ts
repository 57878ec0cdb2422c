import fc from "fast-check";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { parseKubeconfig } from "./parse-kubeconfig.ts";
import { upstreamOf } from "./upstream-of.ts";

const file = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "one",
  preferences: {},
  clusters: [
    { name: "c1", cluster: { server: "https://10.0.0.1:6443", "tls-server-name": "kubernetes" } },
    { name: "c2", cluster: { server: "https://rancher.test/k8s/clusters/c-1/", extensions: [{ name: "x" }] } },
  ],
  users: [
    { name: "u1", user: { token: "abc" } },
    {
      name: "u2",
      user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "aws", args: ["eks"], env: null, interactiveMode: "Never" } },
    },
  ],
  contexts: [
    { name: "one", context: { cluster: "c1", user: "u1", namespace: "x" } },
    { name: "two", context: { cluster: "c2", user: "u2" } },
  ],
};

const configured = { folder: "/etc/platform" };
const ofResource = { folder: undefined };

function only(change: { readonly cluster?: object; readonly user?: object }) {
  const cluster = { server: "https://10.0.0.1:6443", ...change.cluster };
  const [context] = parseKubeconfig(
    stringify({
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user: { ...change.user } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    }),
  );
  if (context === undefined) throw new Error("no context");
  return context;
}

test("every context is a cluster, with its account", () => {
  const contexts = parseKubeconfig(stringify(file));
  expect(contexts.map(({ name }) => name)).toEqual(["one", "two"]);
  const [one, two] = contexts.map((context) => upstreamOf(context, configured));
  expect(one).toMatchObject({
    address: { host: "10.0.0.1", port: 6443 },
    serverName: "kubernetes",
    basePath: "",
    account: { kind: "token", token: { value: "abc" } },
  });
  expect(two).toMatchObject({ address: { host: "rancher.test", port: 443 }, basePath: "/k8s/clusters/c-1", account: { kind: "exec" } });
});

test("paths are relative to the file", () => {
  const { account, ca } = upstreamOf(only({ cluster: { "certificate-authority": "ca.pem" }, user: { tokenFile: "/run/token" } }), configured);
  expect(ca).toEqual({ file: "/etc/platform/ca.pem" });
  expect(account).toEqual({ kind: "token", token: { file: "/run/token" } });
});

test.each([
  ["an authority in a file", { cluster: { "certificate-authority": "/etc/shadow" } }],
  ["a certificate in a file", { user: { "client-certificate": "/a", "client-key": "/b" } }],
  ["a token in a file", { user: { tokenFile: "/etc/platform/secret" } }],
  ["a program", { user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "/bin/sh" } } }],
])("a kubeconfig of a resource may not name %s", (_, change) => {
  expect(() => upstreamOf(only(change), ofResource)).toThrow(expect.objectContaining({ code: "unsupported" }));
});

test.each([
  ["http", { cluster: { server: "http://10.0.0.1:8080" } }],
  ["a user in the URL", { cluster: { server: "https://a:b@10.0.0.1" } }],
  ["no URL", { cluster: { server: "10.0.0.1:6443" } }],
  ["a query", { cluster: { server: "https://10.0.0.1/?a=b" } }],
  ["proxy-url", { cluster: { "proxy-url": "http://proxy:3128" } }],
  ["an authority and none", { cluster: { "certificate-authority": "/ca", "insecure-skip-tls-verify": true } }],
  ["an authority without PEM", { cluster: { "certificate-authority-data": "AAAA" } }],
  ["a password", { user: { username: "a", password: "b" } }],
  ["auth-provider", { user: { "auth-provider": { name: "gcp" } } }],
  ["impersonation", { user: { token: "a", as: "admin" } }],
  ["a certificate without its key", { user: { "client-certificate": "/a" } }],
  ["a token with a line break", { user: { token: "a\r\nX-Remote-User: admin" } }],
  ["an exec plugin of an old version", { user: { exec: { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "x" } } }],
])("%s is refused", (_, change) => {
  expect(() => upstreamOf(only(change), configured)).toThrow(PlatformError);
});

test("an account that a resource may not verify is accepted when it says so", () => {
  expect(upstreamOf(only({ cluster: { "insecure-skip-tls-verify": true } }), ofResource).isInsecure).toBe(true);
});

test("names that are there twice, and references that lead nowhere, are refused", () => {
  const twice = { ...file, users: [...file.users, { name: "u1", user: {} }] };
  const nowhere = { ...file, contexts: [{ name: "x", context: { cluster: "none" } }] };
  const nobody = { ...file, contexts: [{ name: "x", context: { cluster: "c1", user: "none" } }] };
  for (const bad of [twice, nowhere, nobody]) expect(() => parseKubeconfig(stringify(bad))).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("errors never show a secret of the file", () => {
  const secret = "s3cr3t-value";
  const broken = [`users: [{ name: u, user: { token: [${secret}] } }]`, `a: &x ${secret}\nb: *x`, `users: {${secret}`, `${secret}`];
  for (const source of broken) {
    const thrown = thrownBy(() => parseKubeconfig(source));
    expect(JSON.stringify([thrown?.message, thrown?.hint, String(thrown?.cause)])).not.toContain(secret);
  }
});

test("whatever the text, it is read or refused with `invalid` or `unsupported`", () => {
  const text = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 400 }), changedFiles());
  fc.assert(
    fc.property(text, (source) => {
      const thrown = thrownBy(() => {
        for (const context of parseKubeconfig(source)) {
          const found = upstreamOf(context, ofResource);
          expect(JSON.stringify(found)).not.toContain('"file"');
          expect(found.account.kind).not.toBe("exec");
        }
      });
      expect(thrown === undefined || ["invalid", "unsupported"].includes(thrown.code)).toBe(true);
    }),
    { numRuns: someRuns(400) },
  );
});

/** The file above with some of it cut out, doubled or replaced. */
function changedFiles() {
  const source = stringify(file);
  return fc.tuple(fc.nat(source.length), fc.nat(60), fc.string({ unit: "grapheme", maxLength: 20 })).map(([at, length, put]) => {
    return source.slice(0, at) + put + source.slice(at + length);
  });
}

function thrownBy(run: () => void): PlatformError | undefined {
  try {
    run();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown;
    throw thrown;
  }
}

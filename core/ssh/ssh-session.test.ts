import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { checkCertificate, signCertificate } from "./certificate.ts";
import { generateSshKey, publicLine } from "./keys.ts";
import { connectSsh } from "./ssh-client.ts";
import { acceptSsh } from "./ssh-server.ts";

test("smoke", async () => {
  const ca = generateSshKey();
  const host = generateSshKey();
  const user = generateSshKey();
  const end = new Date(Date.now() + 3600_000),
    validAfter = new Date(Date.now() - 60000);
  const hostCertificate = signCertificate({
    key: host.privateKey,
    authority: ca.privateKey,
    validAfter,
    fields: { type: "host", keyId: "h", principals: ["node"], extensions: new Map(), validBefore: end },
  });
  const certificate = signCertificate({
    key: user.privateKey,
    authority: ca.privateKey,
    validAfter,
    fields: { type: "user", keyId: "u", principals: ["root"], extensions: new Map([["a", "b"]]), validBefore: end },
  });
  const [a, b] = duplexPair();
  const signal = new AbortController().signal;
  const s = acceptSsh({
    stream: a,
    hostKey: host.privateKey,
    hostCertificate,
    signal,
    authenticate: ({ certificate: c, username }) =>
      checkCertificate(c, { type: "user", authorities: [ca.publicLine], principal: username, now: new Date() }),
  });
  const c = connectSsh({
    stream: b,
    username: "root",
    privateKey: user.privateKey,
    certificate,
    hostAuthorities: [ca.publicLine],
    principal: "node",
    timeoutMs: 5000,
    signal,
  });
  const [srv, cli] = await Promise.all([s, c]);
  expect(srv.certificate.keyId).toBe("u");
  srv.connection.on("session", (accept) => {
    accept().on("exec", (acc) => {
      const ch = acc();
      ch.write("hi");
      ch.exit(0);
      ch.end();
    });
  });
  const text = await new Promise((res, rej) =>
    cli.exec("x", (e, ch) => {
      if (e) return rej(e);
      let o = "";
      ch.on("data", (d: Buffer) => (o += d)).on("close", () => res(o));
    }),
  );
  expect(text).toBe("hi");
  cli.end();
  await once(srv.connection, "close");
});

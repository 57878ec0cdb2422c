import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { type InsideAuthorities, insideAuthorities } from "../../../test/inside/authorities.ts";
import { identifyPeer } from "./caller.ts";

const own = await insideAuthorities("example.com");

function identify(pem: string, { userCaPem, hostCaPem }: InsideAuthorities = own) {
  const trusting = (pem: string) => ({ trusted: [{ pem }] });
  const authorities = { user: trusting(userCaPem), host: trusting(hostCaPem) };
  return identifyPeer(new X509Certificate(pem), { authorities, clusterName: "example.com", now: new Date() });
}

test("a user and a host are known by the certificates of this cluster", async () => {
  expect(identify((await own.user("alice")).tlsCertificate)).toMatchObject({ kind: "user", name: "alice" });
  expect(identify((await own.host("web-1")).tlsCertificate)).toMatchObject({ kind: "host", names: ["web-1"] });
});

test("a certificate for one resource opens nothing here, not even what every user may do", async () => {
  const { tlsCertificate: cert } = await own.user("alice", { route: { kind: "app", name: "orders" } });
  expect(() => identify(cert)).toThrow(expect.objectContaining({ code: "denied", message: expect.stringContaining('only for app "orders"') }));
});

test("a certificate that a one-time code confirmed calls nothing, so that it cannot be exchanged for one without its limits", async () => {
  const mfa = { device: "otp", kind: "ssh", name: "2b0f3a5e-5d3c-4d1c-9f5e-0f6d2f1b7a11", until: "2036-11-20T20:00:00.000Z" };
  for (const route of [undefined, { kind: "db", name: "orders" }]) {
    const { tlsCertificate: cert } = await own.user("alice", { mfa, ...(route && { route }) });
    expect(() => identify(cert)).toThrow(expect.objectContaining({ code: "denied", message: expect.stringContaining("only for ssh") }));
  }
});

test("another cluster's certificate, and one of this authority for another cluster, are refused", async () => {
  const other = await insideAuthorities("example.com");
  const { tlsCertificate: cert } = await other.user("alice");
  expect(() => identify(cert)).toThrow(expect.objectContaining({ code: "unauthenticated" }));
  const { tlsCertificate: elsewhere } = await own.user("alice", { cluster: "example.org" });
  expect(() => identify(elsewhere)).toThrow(expect.objectContaining({ code: "unauthenticated" }));
});

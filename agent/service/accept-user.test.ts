import { X509Certificate } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { decodeSessionProof, isProven } from "../../core/identity/session-proof.ts";
import type { ServedKind } from "../../core/kinds/service-kinds.ts";
import { agentHost, enterServed } from "../../core/transport/enter-served.ts";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "../../test/inside/authorities.ts";
import { socketPair } from "../../test/inside/socket-pair.ts";
import type { UserKeys } from "../../test/inside/user-keys.ts";
import { acceptUser } from "./accept-user.ts";

const common = { target: "orders", clientAddress: "", sessionId: "", accessRevision: "" };
const toDatabase: StreamRequest<"db"> = { kind: "db", parameters: { user: "reader", name: "", host: "", at: "" }, ...common };
const toApp: StreamRequest<"app"> = { kind: "app", parameters: {}, ...common };

let authorities: InsideAuthorities;
let alice: UserKeys;
let credentials: HostCredentials;
beforeAll(async () => {
  authorities = await insideAuthorities();
  [alice, credentials] = await Promise.all([authorities.user("alice"), authorities.host("db-1")]);
});

/** Both ends of one entry; the proxy has asked the agent for `atProxy`. */
async function entered(request: StreamRequest<ServedKind>, atProxy: StreamRequest = request) {
  const [near, far] = await socketPair();
  const user = { certificate: alice.tlsCertificate, privateKey: alice.tlsPrivateKey };
  const client = enterServed(near, { request, user, hostCaPem: [authorities.hostCaPem] });
  const signal = new AbortController().signal;
  const passedOn = { ...atProxy, clientAddress: "192.0.2.7:1" };
  const agent = acceptUser({ stream: far, request: passedOn, credentials, signal });
  agent.then(({ tls }) => tls.write(encodeStreamReply({ ok: true }))).catch(() => {});
  const [atClient, atAgent] = await Promise.allSettled([client, agent]);
  const host = atClient.status === "fulfilled" ? agentHost(atClient.value) : undefined;
  if (atClient.status === "fulfilled") atClient.value.destroy();
  if (atAgent.status === "fulfilled") atAgent.value.tls.destroy();
  return { atClient, atAgent, host };
}

test("a client at a database signs its session at the host whose agent answers, and the agent hands on the signature", async () => {
  const { atAgent, host } = await entered(toDatabase);
  if (atAgent.status !== "fulfilled") throw atAgent.reason;
  expect(host).toMatchObject({ id: credentials.hostId, cluster: authorities.cluster });
  const proof = decodeSessionProof(atAgent.value.proof);
  expect([proof.account, Math.abs(proof.time.getTime() - Date.now()) < 60_000]).toEqual(["reader", true]);
  const session = { cluster: authorities.cluster, hostId: credentials.hostId, database: "orders" };
  const { raw } = new X509Certificate(alice.tlsCertificate);
  expect(atAgent.value.certificate).toEqual(raw);
  expect(isProven(session, raw, proof)).toBe(true);
});

test("two sessions have two proofs", async () => {
  const proofs = await Promise.all([entered(toDatabase), entered(toDatabase)]);
  const nonces = proofs.map(({ atAgent }) => (atAgent.status === "fulfilled" ? decodeSessionProof(atAgent.value.proof).nonce.toString("hex") : ""));
  expect(new Set(nonces).size).toBe(2);
});

test("a client at an application signs nothing", async () => {
  const { atAgent } = await entered(toApp);
  expect(atAgent).toMatchObject({ status: "fulfilled", value: { proof: Buffer.alloc(0) } });
});

test.for<[string, StreamRequest<ServedKind>, StreamRequest]>([
  ["another database", toDatabase, { ...toDatabase, target: "payroll" }],
  ["another account", toDatabase, { ...toDatabase, parameters: { ...toDatabase.parameters, user: "admin" } }],
  ["another application", toApp, { ...toApp, target: "payroll" }],
])("a proxy that asks for %s is found out, and the client reads why", async ([, request, atProxy]) => {
  const { atClient, atAgent } = await entered(request, atProxy);
  const refused = {
    status: "rejected",
    reason: { code: "denied", message: "access denied: the proxy requested something other than the client did" },
  };
  expect([atClient, atAgent]).toMatchObject([refused, refused]);
});

test.for<[string, StreamRequest<ServedKind>, StreamRequest]>([
  ["an application, while the client wants a database", toDatabase, toApp],
  ["a database, while the client wants an application", toApp, toDatabase],
])("a proxy that asks for %s gets nothing", async ([, request, atProxy]) => {
  const { atClient, atAgent } = await entered(request, atProxy);
  expect([atClient.status, atAgent.status]).toEqual(["rejected", "rejected"]);
});

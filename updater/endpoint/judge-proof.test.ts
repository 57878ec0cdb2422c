import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { signStatement } from "../../core/versions/upgrade-statement.ts";
import { judgeProof, type ProofFacts } from "./judge-proof.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
const line = `ssh-ed25519 ${Buffer.concat([Buffer.from("0000000b7373682d6564323535313900000020", "hex"), raw]).toString("base64")}`;
const stranger = generateKeyPairSync("ed25519").privateKey;

const now = 1_800_000_000;
const said = { host: "h1", channel: "default", version: "v1.2.3", critical: false };
const at = (seconds: number, more: Partial<typeof said> = {}, key = privateKey): string =>
  signStatement({ ...said, ...more }, { key, now: new Date(seconds * 1000) });
const facts: ProofFacts = { version: "1.2.3", signed: at(now), host: "h1", channel: "default", keys: [line], last: undefined, now };

describe("the endpoint's answer is", () => {
  const rows: [what: string, more: Partial<ProofFacts>, kind: "signed" | "unsigned" | "refused", detail?: RegExp][] = [
    ["signed by the auth service, at first", {}, "signed"],
    ["signed by the auth service, later", { last: now - 600 }, "signed"],
    ["signed by the auth service, and critical", { signed: at(now, { critical: true }) }, "signed"],
    ["an hour old", { signed: at(now - 3600) }, "signed"],
    ["of a clock that differs a little", { signed: at(now + 599) }, "signed"],
    ["of a cluster that does not sign", { signed: undefined }, "unsigned", /not seen a signed one/],
    ["of a host whose agent has not joined", { host: undefined }, "unsigned", /no host in particular/],
    ["signed, and the agent is too old to write the keys", { keys: [] }, "unsigned", /written the cluster's keys/],
    ["unsigned where it was signed before", { signed: undefined, last: now - 60 }, "refused", /proxy alone may not order/],
    ["for no host where it was signed before", { host: undefined, last: now - 60 }, "refused", /proxy alone/],
    ["signed, but the keys are gone", { keys: [], last: now - 60 }, "refused", /proxy alone/],
    ["signed by an unknown key", { signed: at(now, {}, stranger) }, "refused", /not signed by a key of this cluster/],
    ["nonsense", { signed: "signed!" }, "refused", /not signed by a key of this cluster/],
    ["for another host", { signed: at(now, { host: "h2" }) }, "refused", /another host/],
    ["for another channel", { signed: at(now, { channel: "beta" }) }, "refused", /for channel beta/],
    ["for another version", { signed: at(now, { version: "v1.0.0" }) }, "refused", /for v1\.0\.0, and the answer is 1\.2\.3/],
    ["replayed", { signed: at(now - 4201) }, "refused", /too old/],
    ["of the future", { signed: at(now + 601) }, "refused", /of the future/],
    ["older than an accepted one", { signed: at(now - 700), last: now - 99 }, "refused", /older than one/],
  ];
  test.for(rows)("%s", ([, more, kind, detail]) => {
    const proof = judgeProof({ ...facts, ...more });
    expect(proof.kind).toBe(kind);
    if (proof.kind !== "signed") expect(proof.detail).toMatch(detail ?? /./);
  });

  test("its urgency comes from the auth service alone", () => {
    expect(judgeProof({ ...facts, signed: at(now, { critical: true }) })).toEqual({ kind: "signed", critical: true, issued: now });
  });
});

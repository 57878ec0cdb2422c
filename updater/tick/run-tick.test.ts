import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { signStatement } from "../../core/versions/upgrade-statement.ts";
import { wants } from "../testing/facts.ts";
import { MemoryHost } from "../testing/memory-host.ts";
import { tick } from "../testing/tick.ts";
import { runTick } from "./run-tick.ts";

describe("a run", () => {
  test("upgrades in the window, reloads, takes the updater along, and the next run does nothing", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.installed).toBe("1.1.0");
    expect(host.running).toBe("1.1.0");
    expect(host.packages.disk.get("platform-ent-updater")).toBe("1.1.0");
    expect(host.found).toMatchObject({ reason: "upgraded", current: "1.1.0", target: "1.1.0", host_id: "host-1", channel: "default", skip: [] });
    host.updater = "1.1.0";
    const before = host.log.length;
    expect(await tick(host)).toMatchObject({ reason: "up_to_date" });
    expect(host.log.slice(before)).toEqual(["no upgrades available (1.1.0 == 1.1.0)", "write"]);
  });

  test("goes back to an older version when the cluster wants it", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    await tick(host);
    host.updater = "1.1.0";
    host.answer = wants("1.0.0");
    expect(await tick(host)).toMatchObject({ reason: "upgraded", detail: "from 1.1.0 to 1.0.0" });
    expect([host.running, host.packages.disk.get("platform-ent-updater")]).toEqual(["1.0.0", "1.0.0"]);
  });

  test("that has seen a signed version requires one from then on: a proxy alone cannot order one", async () => {
    const { privateKey: key, publicKey } = generateKeyPairSync("ed25519");
    const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
    const host = new MemoryHost({ answer: wants("1.0.0") });
    host.authorities = [`ssh-ed25519 ${Buffer.concat([Buffer.from("0000000b7373682d6564323535313900000020", "hex"), raw]).toString("base64")}`];
    const signed = (version: string) => {
      const facts = { host: "host-1", channel: "default", version: `v${version}`, critical: false };
      return { ...wants(version), signed: signStatement(facts, { key, now: new Date(host.seconds * 1000) }) };
    };
    // It has no key yet, then a signature comes.
    await tick(host);
    expect(host.found.signed_at).toBeUndefined();
    host.answer = signed("1.0.0");
    await tick(host);
    expect(host.found.signed_at).toBe(Math.floor(host.seconds));
    host.answer = wants("1.1.0", { critical: true });
    expect(await tick(host)).toMatchObject({ reason: "not_signed", detail: expect.stringContaining("proxy alone") });
    expect(host.installed).toBe("1.0.0");
    host.answer = signed("1.1.0");
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
  });

  test("keeps the previous package, then writes its intent, then installs, then reloads", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    await tick(host);
    const effects = host.log.filter((line) => /^(keep|write|install|reload$)/.test(line));
    expect(effects.slice(0, 5)).toEqual(["keep platform-ent 1.0.0", "write", "install platform-ent 1.1.0", "write", "reload"]);
  });

  test("with a stopped agent installs the package and starts nothing", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), running: false });
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.installed).toBe("1.1.0");
    expect(host.log).not.toContain("reload");
    expect(host.running).toBeUndefined();
  });

  test("that is stopped leaves the state as it is, for the next one", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    const stop = new AbortController();
    const world = host.world();
    const reload = async (): Promise<void> => stop.abort(new Error("stopped by SIGTERM"));
    const run = runTick({ ...world, service: { ...world.service, reload }, signal: stop.signal }, { forced: false });
    await expect(run).rejects.toThrow("stopped by SIGTERM");
    expect(host.found.upgrade).toMatchObject({ phase: "watching" });
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
  });

  test("to another major first upgrades the updater, the next run the agent", async () => {
    const host = new MemoryHost({ answer: wants("2.0.0") });
    expect(await tick(host)).toMatchObject({ reason: "major_mismatch" });
    expect([host.installed, host.packages.disk.get("platform-ent-updater")]).toEqual(["1.0.0", "2.0.0"]);
    host.updater = "2.0.0";
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.running).toBe("2.0.0");
  });

  test("rolls back an updater that does not run", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.brokenUpdater = "1.1.0";
    expect(await tick(host)).toMatchObject({ reason: "upgraded", detail: expect.stringContaining("does not run") });
    expect(host.packages.disk.get("platform-ent-updater")).toBe("1.0.0");
    expect(host.running).toBe("1.1.0");
    expect(await tick(host)).toMatchObject({
      reason: "up_to_date",
      detail: expect.stringMatching(/its updater was rolled back .*: it does not run/),
    });
    const updaters = (): string[] => host.packages.installs.filter(({ name }) => name === "platform-ent-updater").map(({ version }) => version);
    expect(updaters()).toEqual(["1.1.0", "1.0.0"]);
    host.brokenUpdater = undefined;
    expect(await tick(host, { forced: true })).toMatchObject({ reason: "up_to_date" });
    expect([updaters().slice(2), host.found.skip_updater]).toEqual([["1.1.0"], undefined]);
  });
});

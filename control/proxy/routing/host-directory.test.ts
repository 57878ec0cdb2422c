import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import {
  type FindDirectHostsResponse,
  FindDirectHostsResponseSchema,
  type HostRouteSchema,
  type HostsEvent,
  HostsEventSchema,
} from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { createLog } from "../../../core/log/log.ts";
import { turns } from "../../../test/inside/turns.ts";
import { HostDirectory } from "./host-directory.ts";

const [idA, idB] = ["aaaaaaaa-1111-4111-8111-111111111111", "bbbbbbbb-1111-4111-8111-111111111111"];
type RouteInit = MessageInitShape<typeof HostRouteSchema>;
type Via = NonNullable<RouteInit["via"]>;

const route = (id: string, hostname: string, via: Via): RouteInit => ({ id, hostname, labels: { env: "prod" }, names: [hostname], via });
const dial = (...addresses: string[]): Via => ({ case: "dial", value: { addresses } });
const record = (since = ""): Via => ({ case: "record", value: { since } });
const event = (more: MessageInitShape<typeof HostsEventSchema>): HostsEvent => create(HostsEventSchema, { complete: true, ...more });

/** An auth service whose answers a test sends, and that counts the calls for one target. */
class FakeAuth implements Pick<AuthClient, "watchHosts" | "findDirectHosts"> {
  calls = 0;
  watches = 0;
  now = 0;
  unsupported = false;
  #next = Promise.withResolvers<HostsEvent | undefined>();

  watchHosts(): AsyncGenerator<HostsEvent> {
    this.watches += 1;
    return this.#events();
  }

  async findDirectHosts(): Promise<FindDirectHostsResponse> {
    this.calls += 1;
    return create(FindDirectHostsResponseSchema, { recordedJson: [JSON.stringify({ id: idB, hostname: "asked", labels: {} })] });
  }

  /** Undefined: the watch breaks off. */
  async send(next: HostsEvent | undefined): Promise<void> {
    this.#next.resolve(next);
    await turns();
  }

  async *#events(): AsyncGenerator<HostsEvent> {
    if (this.unsupported) throw new PlatformError("unsupported", "there is no such method");
    for (;;) {
      const one = await this.#next.promise;
      this.#next = Promise.withResolvers();
      if (one === undefined) throw new PlatformError("unavailable", "the connection broke");
      yield one;
    }
  }
}

let auth: FakeAuth;
let hosts: HostDirectory;
let running: Promise<void>;
const stop = { signal: new AbortController() };
beforeEach(() => {
  auth = new FakeAuth();
  stop.signal = new AbortController();
  const log = createLog({ level: "error", format: "text", write: () => {} });
  hosts = new HostDirectory({ auth, log, cluster: "main", clock: () => auth.now });
  running = hosts.run(stop.signal.signal);
});
afterEach(async () => {
  stop.signal.abort();
  await auth.send(undefined);
  await running;
});

const found = async (target: string): Promise<readonly string[]> => {
  const { reachable, recorded } = await hosts.find(target);
  return [...reachable, ...recorded].map(({ via, facts }) => `${facts.hostname} ${via}`);
};

describe("the directory of hosts", () => {
  test("answers without a call once it is complete, and by every change", async () => {
    await auth.send(event({ changed: [route(idA, "web-1", dial("10.0.0.5:3022"))], complete: false }));
    expect(await found("web-1")).toEqual(["asked record"]);
    await auth.send(event({ changed: [route(idB, "web-1", record())] }));
    expect(await found("web-1.main")).toEqual(["web-1 dial", "web-1 record"]);
    await auth.send(event({ changed: [route(idA, "web-2", dial("10.0.0.6:3022"))], gone: [idB] }));
    expect([await found("web-1"), await found("web-2"), await found(idA)]).toEqual([[], ["web-2 dial"], ["web-2 dial"]]);
    expect(auth.calls).toBe(1);
  });

  test("answers for 30 s after the last event, and then asks the auth service", async () => {
    await auth.send(event({ changed: [route(idA, "web-1", record("2026-01-01T00:00:00Z"))] }));
    await auth.send(undefined);
    auth.now += 29_999;
    expect(await found("web-1")).toEqual(["web-1 record"]);
    auth.now += 1;
    expect(await found("web-1")).toEqual(["asked record"]);
  });

  test("a new watch replaces what an earlier one has sent, all at once", async () => {
    await auth.send(event({ changed: [route(idA, "web-1", record())] }));
    await auth.send(undefined);
    await expect.poll(() => auth.watches).toBe(2);
    await auth.send(event({ changed: [route(idB, "web-2", record())], complete: false }));
    expect(await found("web-1")).toEqual(["web-1 record"]);
    await auth.send(event({}));
    expect([await found("web-1"), await found("web-2")]).toEqual([[], ["web-2 record"]]);
  });

  test("knows what dialled agents offer, as long as its answer is current", async () => {
    const offered = [
      { kind: "kube", name: "prod", labels: { env: "test" } },
      { kind: "", name: "later" },
    ];
    const value = { addresses: ["10.0.0.5:3022"], offered, namedKinds: ["kube"], serviceAddresses: [{ kind: "kube", addresses: ["10.0.0.5:3026"] }] };
    const begun = hosts.begun(60_000);
    await auth.send(event({ changed: [route(idA, "web-1", { case: "dial", value })] }));
    await begun;
    expect(hosts.offering("kube", "prod")).toMatchObject([
      { target: { identity: { id: idA }, services: { kube: ["10.0.0.5:3026"] } }, offered: { name: "prod", labels: { env: "test" } }, isNamed: true },
    ]);
    auth.now += 30_000;
    expect(hosts.offering("kube", "prod")).toEqual([]);
    await auth.send(event({ changed: [route(idA, "web-1", dial("10.0.0.5:3022"))] }));
    expect(hosts.offering("kube", "prod")).toEqual([]);
    await auth.send(event({ changed: [route(idA, "web-1", { case: "dial", value })] }));
    await auth.send(event({ gone: [idA] }));
    expect(hosts.offering("kube", "prod")).toEqual([]);
  });

  test("a malformed host ends the watch: targets are asked for", async () => {
    await auth.send(event({ changed: [route("not-an-id", "web-1", record())] }));
    expect(await found("web-1")).toEqual(["asked record"]);
  });
});

test("an auth service of the version before is asked for each target", async () => {
  const old = new FakeAuth();
  old.unsupported = true;
  const end = new AbortController();
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "text", write: (line) => void lines.push(line) });
  const directory = new HostDirectory({ auth: old, log, cluster: "main", clock: () => 0 });
  const ran = directory.run(end.signal);
  await expect.poll(() => lines.join()).toContain("asking it for each target");
  expect((await directory.find("web-1")).recorded).toHaveLength(1);
  expect([old.calls, old.watches]).toEqual([1, 1]);
  // It has been upgraded.
  old.unsupported = false;
  directory.retry();
  await expect.poll(() => old.watches).toBe(2);
  await old.send(event({}));
  expect((await directory.find("web-1")).recorded).toEqual([]);
  end.abort();
  await old.send(undefined);
  await ran;
});

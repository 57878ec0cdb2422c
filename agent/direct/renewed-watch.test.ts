import { once } from "node:events";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { joinHost, renewHost } from "../../core/api/host-credentials.ts";
import { silentLog } from "../../core/log/log.ts";
import type { Offered } from "../../core/resources/offered.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { joinHost as joinProxy, openTestAuth } from "../../test/inside/open-auth.ts";
import { until } from "../../test/world/until.ts";
import { openAccessSource } from "../access/access-source.ts";
import { HeldRoom } from "../audit/spool-room.ts";
import { AuthSource } from "../auth-source.ts";
import { followAuthorities } from "../identity/follow-authorities.ts";
import { openDirect } from "./open-direct.ts";

test("the auth service does not see the host as gone while it moves to a connection with its renewed certificate", { timeout: 60_000 }, async () => {
  await using t = await openTestAuth();
  const address = await t.auth.listen({ host: "127.0.0.1", port: 0 });
  const streams: Duplex[] = [];
  const open = async (): Promise<Duplex> => {
    const stream = await dial(address, { env: {} });
    streams.push(stream);
    return stream;
  };
  const { secret } = await t.admin.createToken({ roles: ["node", "kube"] });
  const own = { role: "node", hostname: "kube-1", names: [], labels: {}, services: ["kube"], version: "1.0.0" } as const;
  let credentials = await joinHost({ open, trust: { pins: [t.auth.caPin] }, token: secret, ...own });

  const end = new AbortController();
  const auth = new AuthSource({ credentials: () => credentials, open });
  const access = openAccessSource({ fetch: async () => await (await auth.client()).getAccess({ kinds: ["kube"] }), log: silentLog });
  const identity = { current: () => credentials, learn: () => {} };
  let offered: readonly Offered[] = [{ kind: "kube", name: "before", labels: {} }];
  const direct = await openDirect({
    ...{ nodename: "kube-1", services: ["kube"], sockets: new ListenSockets(), log: silentLog, identity, access, auth },
    way: {
      kind: "direct",
      authServer: { host: "127.0.0.1", port: 3025 },
      ports: [{ kind: "kube", listen: { host: "127.0.0.1", port: 0 }, publicAddresses: [] }],
    },
    audit: { record: async () => {}, hold: async (ask) => new HeldRoom(ask, () => {}) },
    authorities: followAuthorities({ access, identity, log: silentLog }, end.signal),
    local: () => undefined,
    serve: async () => {},
    status: () => ({ upgrader: "none", sessions: 0 }),
    labels: () => ({}),
    ...{ onAccess: access.announce, onMaintenance: () => {}, onResources: () => {} },
    offered: () => offered,
    steady: () => performance.now(),
  });

  /** Clusters of the host, as a proxy hears of them. */
  const heard: (readonly string[])[] = [];
  const proxy = await joinProxy(t, "proxy", { role: "proxy" });
  const listening = (async () => {
    for await (const { changed } of proxy.client.watchHosts({}, { signal: end.signal, timeoutMs: 0 })) {
      for (const { via } of changed) heard.push(via.case === "dial" ? via.value.offered.map(({ name }) => name) : []);
    }
  })().catch(() => {});
  await until("the host offers its cluster", () => heard.at(-1)?.[0] === "before");
  const connection = streams.at(-1);
  if (connection === undefined) throw new Error("it has not connected");
  heard.splice(0);

  credentials = await renewHost(await auth.client(), { credentials, hostname: "kube-1", names: [], refused: () => {} });
  const moved = once(connection, "close");
  await auth.client();
  await moved;
  offered = [{ kind: "kube", name: "after", labels: {} }];
  direct.tell();
  await until("the host offers another cluster", () => heard.at(-1)?.[0] === "after");
  expect(heard).toEqual([["after"]]);
  expect(direct.isConnected).toBe(true);

  await direct.stop(AbortSignal.abort());
  end.abort();
  await listening;
  auth.close();
});

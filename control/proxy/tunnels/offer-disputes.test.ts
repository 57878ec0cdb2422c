import { beforeEach, expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import { OfferDisputes } from "./offer-disputes.ts";
import { type Registered, TunnelRegistry } from "./registry.ts";
import { type FakeHost, fakeTunnel } from "./testing/fake-tunnel.ts";

const kube = (name: string, env: string): Offered => ({ kind: "kube", name, labels: { env } });

let registry: TunnelRegistry<Registered>;
let disputes: OfferDisputes<Registered>;
let notices: { readonly to: string; readonly text: string }[];
beforeEach(() => {
  registry = new TunnelRegistry();
  notices = [];
  disputes = new OfferDisputes({ registry, log: silentLog, notify: ({ identity }, text) => notices.push({ to: identity.id, text }) });
});

/** An agent that comes and offers these. */
function agent(id: string, offered: readonly Offered[], change: Omit<FakeHost, "id"> = {}): { readonly offer: (next: readonly Offered[]) => void } {
  const tunnel = fakeTunnel({ id, ...change });
  registry.add(tunnel);
  const offer = (next: readonly Offered[]): void => {
    registry.offer(tunnel, next);
    disputes.look(next);
  };
  offer(offered);
  return { offer };
}

test("each agent that assigns other labels gets a notice, once however often they change", () => {
  agent("a", [kube("prod", "prod"), kube("own", "a")]);
  expect(notices).toEqual([]);
  const second = agent("b", [kube("prod", "dev")]);
  expect(notices.map(({ to }) => to)).toEqual(["a", "b"]);
  for (const { text } of notices) expect(text).toMatch(/"prod" is not used while the agents on host-a \(a\) and host-b \(b\)/);
  for (let round = 0; round < 5; round += 1) {
    second.offer([kube("prod", "prod")]);
    second.offer([kube("prod", `dev-${round}`)]);
  }
  expect(notices).toHaveLength(2);
});

test("an agent that is passed over gets a notice, and the others none", () => {
  agent("a", [kube("prod", "prod")], { offerLimits: { kube: ["prod"] } });
  agent("b", [kube("prod", "prod")]);
  expect(notices).toEqual([{ to: "b", text: expect.stringMatching(/"prod" of this host is not used: the join token of another host/) }]);
});

test("many at once are one notice of a bounded length, and one agent gets a bounded number of them", () => {
  const many = (env: string, round = 0): readonly Offered[] => Array.from({ length: 30 }, (_, n) => kube(`${round}-${n}-${"x".repeat(200)}`, env));
  const [first, second] = [agent("a", many("prod")), agent("b", many("dev"))];
  expect(notices.map(({ to }) => to)).toEqual(["a", "b"]);
  for (const { text } of notices) {
    expect(text.length).toBeLessThanOrEqual(2000);
    expect(text).toMatch(/; and 27 more$/);
  }
  for (let round = 1; round < 8; round += 1) {
    first.offer(many("prod", round));
    second.offer(many("dev", round));
  }
  // 100 texts: three more lists of 30, and ten of the next.
  expect(notices).toHaveLength(8);
});

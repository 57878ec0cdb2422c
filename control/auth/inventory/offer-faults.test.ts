import { expect, test } from "vitest";
import type { OfferLimits } from "../../../core/resources/token.ts";
import type { LiveNode } from "./live-nodes.ts";
import { LiveOffered, listOffered } from "./live-offered.ts";
import { offerFaults, offerWarnings } from "./offer-faults.ts";

const node = (hostname: string): LiveNode => ({
  connected: !hostname.endsWith("gone"),
  since: new Date(0),
  address: "",
  proxies: [],
  hostname,
  version: "",
  names: [],
});
const live = { get: (id: string) => node(`host-${id}`) };

/** Hosts that each offer one resource with these labels. */
function offering(...hosts: readonly (readonly [id: string, kind: string, env: string, limits?: OfferLimits])[]): LiveOffered {
  const offers = new LiveOffered(live);
  for (const [id, kind, env, limits] of hosts) offers.report(id, [{ kind, name: "prod", labels: { env } }], 1, limits);
  return offers;
}

const listed = (offers: LiveOffered): readonly (readonly [hosts: string, reason: string])[] =>
  listOffered(offers, live, () => true).map(({ hosts, unused, isPassedOver }) => {
    const reason = isPassedOver ? "passed over" : /differing labels/.test(unused) ? "differs" : unused;
    return [hosts.map(({ id }) => id).join(""), reason] as const;
  });

test.for<readonly [what: string, offers: LiveOffered, expected: readonly (readonly [string, string])[]]>([
  ["agents that agree", offering(["a", "kube", "prod"], ["b", "kube", "prod"]), [["ab", ""]]],
  [
    "agents that differ",
    offering(["a", "kube", "prod"], ["b", "kube", "dev"]),
    [
      ["a", "differs"],
      ["b", "differs"],
    ],
  ],
  ["one that is not connected has no say", offering(["a", "kube", "prod"], ["gone", "kube", "dev"]), [["a", ""]]],
  [
    "another kind of the same name",
    offering(["a", "kube", "prod"], ["b", "db", "dev"]),
    [
      ["b", ""],
      ["a", ""],
    ],
  ],
  [
    "a host whose token names it, beside one whose token names nothing and that copies its labels",
    offering(["a", "kube", "prod", { kube: ["prod"] }], ["b", "kube", "prod"]),
    [
      ["a", ""],
      ["b", "passed over"],
    ],
  ],
])("%s", ([, offers, expected]) => {
  expect(listed(offers)).toEqual(expected);
});

test("tctl status has a sentence for each of the first five", () => {
  const offers = new LiveOffered(live);
  const many = (env: string) => Array.from({ length: 7 }, (_, n) => ({ kind: "app", name: `app-${n}`, labels: { env } }));
  offers.report("a", many("prod"), 1);
  offers.report("b", many("dev"), 1);
  const warnings = offerWarnings(offerFaults(offers, live).values());
  expect(warnings).toHaveLength(6);
  expect(warnings[0]).toMatch(/^application "app-0" is not used while the agents on host-a \(a\) and host-b \(b\) assign differing labels to it: /);
  expect(warnings[5]).toBe("2 more resources have agents that are not used: tctl kube ls, tctl db ls");
  const named = offering(["a", "kube", "prod", { kube: ["prod"] }], ["b", "kube", "dev"]);
  expect(offerWarnings(offerFaults(named, live).values())).toEqual([
    'Kubernetes cluster "prod" is not used at b: the join token of another host that offers it names it, and theirs names none',
  ]);
});

import type { z } from "zod";
import { change } from "../audit/event-spec.ts";
import { appSpec } from "./app.ts";
import { dbSpec } from "./db.ts";
import { kubeClusterSpec } from "./kube-cluster.ts";
import { lockEvents, lockSchema } from "./lock.ts";
import { maintenanceEvents, maintenanceName, maintenanceSchema } from "./maintenance.ts";
import { nodeEvents, nodeSchema } from "./node.ts";
import type { ResourceSpec } from "./resource-spec.ts";
import { roleEvents, roleSchema } from "./role.ts";
import { tokenEvents, tokenSchema } from "./token.ts";
import { upgradeRolloutEvents, upgradeRolloutSchema } from "./upgrade-rollout.ts";
import { userEvents, userSchema } from "./user.ts";

/** Every kind of resource. A kind without behaviour is a module with its `ResourceSpec`, and a line here. */
export const resourceSpecs = {
  role: { schema: roleSchema, aliases: ["roles"], events: roleEvents },
  user: { schema: userSchema, aliases: ["users"], events: userEvents },
  token: { schema: tokenSchema, aliases: ["tokens"], events: tokenEvents },
  node: { schema: nodeSchema, aliases: ["nodes", "server", "servers"], events: nodeEvents },
  lock: { schema: lockSchema, aliases: ["locks"], events: lockEvents },
  cluster_maintenance_config: { schema: maintenanceSchema, aliases: ["cmc"], only: maintenanceName, events: maintenanceEvents },
  upgrade_rollout: { schema: upgradeRolloutSchema, aliases: ["rollout"], only: "default", events: upgradeRolloutEvents },
  app: appSpec,
  db: dbSpec,
  kube_cluster: kubeClusterSpec,
} as const satisfies Readonly<Record<string, ResourceSpec>>;

type Specs = typeof resourceSpecs;
export type ResourceKind = keyof Specs;
export const resourceKinds = Object.keys(resourceSpecs) as readonly ResourceKind[];
export type Resource = { [Kind in ResourceKind]: z.infer<Specs[Kind]["schema"]> }[ResourceKind];
/** Kinds without behaviour of their own. */
export type PlainKind = { [Kind in ResourceKind]: Specs[Kind] extends { readonly plain: unknown } ? Kind : never }[ResourceKind];
type PlainEvents = Specs[PlainKind]["plain"]["events"];
export type PlainEventName = PlainEvents[keyof PlainEvents][0];

/** Targets of rules: the kinds of resources, and other data of the auth service. */
export const ruleResources = [...resourceKinds, "session", "event", "cert_authority"] as const;
export type RuleResource = (typeof ruleResources)[number];

export const plainKinds = resourceKinds.filter((kind): kind is PlainKind => "plain" in resourceSpecs[kind]);

interface PlainEvent {
  readonly code: string;
  readonly fields: typeof change;
}
const plainEvents = Object.fromEntries(
  plainKinds.flatMap((kind) => Object.values(resourceSpecs[kind].plain.events)).map(([name, code]) => [name, { code, fields: change }]),
) as Readonly<Record<PlainEventName, PlainEvent>>;
const ownEvents = Object.fromEntries(
  resourceKinds.flatMap((kind) => ("events" in resourceSpecs[kind] ? [[kind, resourceSpecs[kind].events]] : [])),
) as { readonly [Kind in Exclude<ResourceKind, PlainKind>]: Specs[Kind]["events"] };
/** Audit events of changes of resources, by kind. */
export const resourceEvents = { ...ownEvents, plainEvents };

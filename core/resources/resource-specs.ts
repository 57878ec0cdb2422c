import type { z } from "zod";
import { appSpec } from "./app.ts";
import { lockSchema } from "./lock.ts";
import { maintenanceName, maintenanceSchema } from "./maintenance.ts";
import { nodeSchema } from "./node.ts";
import type { ResourceSpec } from "./resource-spec.ts";
import { roleSchema } from "./role.ts";
import { tokenSchema } from "./token.ts";
import { upgradeRolloutSchema } from "./upgrade-rollout.ts";
import { userSchema } from "./user.ts";

/** Every kind of resource. A kind without behaviour is a module with its `ResourceSpec`, and a line here. */
export const resourceSpecs = {
  role: { schema: roleSchema, aliases: ["roles"] },
  user: { schema: userSchema, aliases: ["users"] },
  token: { schema: tokenSchema, aliases: ["tokens"] },
  node: { schema: nodeSchema, aliases: ["nodes", "server", "servers"] },
  lock: { schema: lockSchema, aliases: ["locks"] },
  cluster_maintenance_config: { schema: maintenanceSchema, aliases: ["cmc"], only: maintenanceName },
  upgrade_rollout: { schema: upgradeRolloutSchema, aliases: ["rollout"], only: "default" },
  app: appSpec,
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
/** Name and code of every event of the kinds without behaviour. */
export const plainEvents = plainKinds.flatMap((kind) => Object.values(resourceSpecs[kind].plain.events)) as readonly (readonly [
  name: PlainEventName,
  code: string,
])[];

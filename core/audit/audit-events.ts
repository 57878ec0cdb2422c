import { z } from "zod";
import { appSessionEvents } from "../kinds/app/app-events.ts";
import { dbSessionEvents } from "../kinds/db/db-events.ts";
import { mysqlEvents } from "../kinds/db/mysql-events.ts";
import { postgresEvents } from "../kinds/db/postgres-events.ts";
import { kubeEvents } from "../kinds/kube/kube-events.ts";
import { sshFileEvents } from "../kinds/ssh/file-events.ts";
import { sshForwardingEvents } from "../kinds/ssh/forwarding-events.ts";
import { sshSessionEvents } from "../kinds/ssh/session-events.ts";
import { resourceEvents } from "../resources/resource-specs.ts";
import { type AuditEventSpec, type AuditEventSpecs, moment, type Reporter, short } from "./event-spec.ts";
import { certificateEvents } from "./events/certificates.ts";
import { hostEvents } from "./events/hosts.ts";
import { loginEvents } from "./events/logins.ts";
import { recordingEvents } from "./events/recordings.ts";
import { refusalEvents } from "./events/refusals.ts";
import { rolloutEvents } from "./events/rollouts.ts";

/** Every audit event there is, by the service, resource or area that it belongs to. The union, the codes and the permissions are made from this table. */
const areas = {
  sshSessionEvents,
  sshFileEvents,
  sshForwardingEvents,
  appSessionEvents,
  dbSessionEvents,
  postgresEvents,
  mysqlEvents,
  kubeEvents,
  ...resourceEvents,
  loginEvents,
  certificateEvents,
  hostEvents,
  rolloutEvents,
  recordingEvents,
  refusalEvents,
} as const satisfies Readonly<Record<string, AuditEventSpecs>>;

const common = {
  code: short,
  /** When it happened, RFC 3339 with milliseconds. */
  time: moment,
  /** One event has one uid, however often it is sent. */
  uid: z.uuid(),
  cluster_name: short,
  "addr.remote": short.optional(),
};

type EventSchema<Name extends string, Fields extends z.ZodRawShape> = z.ZodObject<{ event: z.ZodLiteral<Name> } & typeof common & Fields>;
type EventsOf<Specs extends AuditEventSpecs> = {
  [Name in keyof Specs & string]: z.infer<EventSchema<Name, Specs[Name]["fields"]>>;
}[keyof Specs & string];

/** One event: a JSON object with `event` as its discriminator. */
export type AuditEvent = { [Area in keyof typeof areas]: EventsOf<(typeof areas)[Area]> }[keyof typeof areas];
export type AuditEventName = AuditEvent["event"];
type WithoutOrigin<T> = T extends unknown ? Omit<T, "code" | "time" | "uid" | "cluster_name"> : never;
/** Fields from the source; `makeAuditEvent` adds code, time, uid and cluster. */
export type AuditFacts = WithoutOrigin<AuditEvent>;

const specs: ReadonlyMap<string, AuditEventSpec> = new Map(Object.values<AuditEventSpecs>(areas).flatMap((area) => Object.entries(area)));

function schemaOf([event, { fields }]: readonly [string, AuditEventSpec]) {
  return z.strictObject(shapeOf(event, fields));
}

function shapeOf<Name extends string>(event: Name, fields: z.ZodRawShape) {
  return { event: z.literal(event), ...common, ...fields };
}
const [first, ...others] = [...specs].map(schemaOf);
if (first === undefined) throw new Error("there are no audit events");
/** Strict: an unknown event or field is refused. */
export const auditEventSchema = z.discriminatedUnion("event", [first, ...others]) as unknown as z.ZodType<AuditEvent>;

/** Schemas of all fields of an event, in the order in which it has them. Pure. */
export function eventShape(event: AuditEventName): z.ZodRawShape {
  return shapeOf(event, specs.get(event)?.fields ?? {});
}

/** The fields of an event that an auth service of the version before does not know. Pure. */
export function newerFields(event: string): readonly string[] {
  return specs.get(event)?.newer ?? [];
}

/** Whether a host of this role may report such an event. Pure. */
export function mayReport(role: Reporter, event: AuditEventName): boolean {
  return specs.get(event)?.reporters?.includes(role) === true;
}

/** The code of an event: by its name, and by whether it succeeded. Pure. */
export function codeOf(facts: AuditFacts): string {
  const code = specs.get(facts.event)?.code;
  if (code === undefined) throw new Error(`no audit event ${facts.event}`);
  if (typeof code === "string") return code;
  const hasFailed = "success" in facts ? !facts.success : "error" in facts && facts.error !== undefined;
  const pair = "action" in code ? code.action["action" in facts ? facts.action : ""] : code;
  if (pair === undefined) throw new Error(`no code for audit event ${JSON.stringify(facts).slice(0, 256)}`);
  return pair[hasFailed ? 1 : 0];
}

/** Every event with every code that it can have; docs/audit.md lists them. An event of two areas is listed twice. */
export function auditCodes(): readonly (readonly [event: string, codes: readonly string[]])[] {
  return Object.values<AuditEventSpecs>(areas)
    .flatMap((area) => Object.entries(area))
    .map(([event, { code }]) => {
      if (typeof code === "string") return [event, [code]];
      return [event, "action" in code ? Object.values(code.action).flat() : code];
    });
}

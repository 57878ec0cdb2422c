import { z } from "zod";

/** Longest short and long texts of an event, characters; `makeAuditEvent` cuts longer ones. */
export const maxShort = 256;
export const maxText = 2_000;
/** Longest command kept in an event, characters; the source truncates with `clipCommand`. */
export const maxAuditCommand = 16_384;

export const short = z.string().max(maxShort);
export const text = z.string().max(maxText);
export const count = z.int().min(0);
export const moment = z.iso.datetime({ offset: true });

/** Fields that several events share. */
export const outcome = { success: z.boolean(), error: text.optional() };
export const server = { server_id: short, server_name: short };
/** Roles and traits of the user at that moment; `recordedUser` bounds them. */
export const userFacts = {
  roles: z.array(short).max(64).optional(),
  traits: z.record(z.string().max(64), z.array(short).max(256)).optional(),
};
/** The device whose one-time code confirmed a session itself. */
export const confirmed = { with_mfa: short.optional() };
/** `user` is who did it; for resources the acting user or host, and `name` is what was changed. */
export const change = { user: short, name: short };

/** Codes of an event that succeeded, and of one that failed or was refused. */
type Outcome = readonly [succeeded: string, failed: string];
/** One code for all, one by outcome, or a pair for each value of the field `action`. */
export type EventCode = string | Outcome | { readonly action: Readonly<Record<string, Outcome>> };

/** Hosts, by their role, that may report an event to the auth service. An agent reports only events of its own host. */
export type Reporter = "node" | "proxy" | "auth";

/** One kind of audit event; audit-events.ts builds the closed union of all. */
export interface AuditEventSpec {
  readonly code: EventCode;
  /** Beside those that every event has. An unknown field is refused, so that no secret is stored unnoticed. */
  readonly fields: z.ZodRawShape;
  /** Of these, the ones that an auth service of the version before does not know: an agent whose event it refuses sends it again without them. */
  readonly newer?: readonly string[];
  /** Omitted: only the auth service records it. */
  readonly reporters?: readonly Reporter[];
}
export type AuditEventSpecs = Readonly<Record<string, AuditEventSpec>>;

/** Checks the events of a service, resource or area, by name, and keeps their exact types. */
export function auditEvents<const Specs extends AuditEventSpecs>(specs: Specs): Specs {
  return specs;
}

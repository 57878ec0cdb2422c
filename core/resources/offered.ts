import { z } from "zod";
import { type Labels, labelsSchema } from "./metadata.ts";

/** A resource that an agent offers: users reach it by kind and name through any agent that offers it. */
export interface Offered {
  /** A kind of service. A proxy of the previous version may not know it. */
  readonly kind: string;
  readonly name: string;
  readonly labels: Labels;
  /** Facts of its kind for clients and lists: the protocol of a database. */
  readonly details?: Readonly<Record<string, string>> | undefined;
}

/** Whether a resource answers its agent's checks; unknown also for an agent that does not check. */
export const offeredHealths = ["healthy", "unknown", "unhealthy"] as const;
export type OfferedHealth = (typeof offeredHealths)[number];

/** Facts about a resource that each of its agents sees for itself: they travel in its details. */
export interface HealthFacts {
  readonly health: OfferedHealth;
  /** Why it is unhealthy. */
  readonly healthError: string;
}

/** Divides the details of a resource into those of its agent's checks and the others, without the address at which its agent reaches it. Pure. */
export function splitHealth({ details = {} }: Pick<Offered, "details">): HealthFacts & { readonly details: Readonly<Record<string, string>> } {
  const { health, health_error: healthError = "", uri: _address, ...others } = details;
  return { health: offeredHealths.find((one) => one === health) ?? "unknown", healthError, details: others };
}

/** The details in which the health of a resource travels. Pure. */
export function healthDetails({ health, healthError }: HealthFacts): Readonly<Record<string, string>> {
  return { health, ...(healthError !== "" && { health_error: healthError }) };
}

const detailsSchema = z
  .record(z.string().min(1).max(32), z.string().max(2048))
  .refine((all) => Object.keys(all).length <= 8, "has at most 8 details");

export const offeredSchema = z.object({
  kind: z.string().min(1).max(32),
  name: z.string().min(1).max(253),
  labels: labelsSchema,
  details: detailsSchema.optional(),
});

/** Maximum resources of one host, and maximum of their JSON, bytes. */
export const maxOffered = { count: 2000, bytes: 800_000 } as const;
const pageBytes = 48_000;

/** Splits a list into pages that fit a message each; at least one. Pure. */
export function offeredPages(offered: readonly Offered[]): readonly (readonly Offered[])[] {
  const pages: Offered[][] = [[]];
  let bytes = 0;
  for (const one of offered) {
    const size = Buffer.byteLength(JSON.stringify(one)) + 1;
    if (bytes + size > pageBytes && bytes > 0) {
      pages.push([]);
      bytes = 0;
    }
    pages.at(-1)?.push(one);
    bytes += size;
  }
  return pages;
}

/** Reassembles the pages of a list, within the limits. */
export class OfferedPages {
  #pages: Offered[] = [];
  #bytes = 0;

  /** The whole list with its last page; undefined before. Never throws: resources beyond the limits are left out. */
  add(page: readonly Offered[], more: boolean): readonly Offered[] | undefined {
    for (const one of page) {
      this.#bytes += Buffer.byteLength(JSON.stringify(one));
      if (this.#pages.length < maxOffered.count && this.#bytes <= maxOffered.bytes) this.#pages.push(one);
    }
    if (more) return undefined;
    const whole = this.#pages;
    this.#pages = [];
    this.#bytes = 0;
    return whole;
  }
}

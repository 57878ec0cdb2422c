import { z } from "zod";
import { type Labels, labelsSchema } from "./metadata.ts";

/** A resource that an agent offers: users reach it by kind and name through any agent that offers it. */
export interface Offered {
  /** A kind of service. A proxy of the previous version may not know it. */
  readonly kind: string;
  readonly name: string;
  readonly labels: Labels;
}

export const offeredSchema = z.object({ kind: z.string().min(1).max(32), name: z.string().min(1).max(253), labels: labelsSchema });

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

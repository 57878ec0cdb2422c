import type { z } from "zod";
import type { AuditEventSpecs } from "../audit/event-spec.ts";
import type { Metadata } from "./metadata.ts";

/** A resource as users write it. */
export interface ResourceDocument {
  readonly kind: string;
  readonly version: string;
  readonly metadata: Metadata;
}

/** Name of an event of the audit log, and its code. */
type EventOfResource = readonly [name: string, code: string];

/** A secret in a document: required in storage, omitted where it is not shown. */
interface SecretPart<D extends ResourceDocument> {
  /** Its path, for errors. */
  readonly name: string;
  /** The document without it. */
  hide(document: D): D;
  /** The document with the secret of the stored one, unless it has its own. */
  keep(document: D, stored: D | undefined): D;
  isThere(document: D): boolean;
}

/** A kind of resource without behaviour of its own: stored, listed, shown and audited as described here. */
export interface PlainResource<D extends ResourceDocument> {
  readonly events: { readonly created: EventOfResource; readonly updated: EventOfResource; readonly deleted: EventOfResource };
  /** Header of the table that `tctl get` prints, and a document's cells. */
  readonly columns: readonly string[];
  cells(document: D): readonly string[];
  /** Maximum number in a cluster. */
  readonly most: number;
  /** The part of such a document that is shown only on request, and to hosts that serve it. */
  readonly secret?: SecretPart<D>;
}

/** One kind of resource; resource-specs.ts lists them all. */
export interface ResourceSpec<D extends ResourceDocument = ResourceDocument> {
  readonly schema: z.ZodType<D>;
  /** Other accepted spellings: plural, the reference's names. */
  readonly aliases: readonly string[];
  /** Name of the one document of a kind that has no other. */
  readonly only?: string;
  /** Audit events of its changes; a kind without behaviour lists them in `plain`. */
  readonly events?: AuditEventSpecs;
  /** Omitted if control/auth has a folder for it. */
  readonly plain?: PlainResource<D>;
}

/** Checks a specification and keeps its exact type. */
export function resourceSpec<D extends ResourceDocument>() {
  return <const Spec extends ResourceSpec<D>>(spec: Spec): Spec => spec;
}

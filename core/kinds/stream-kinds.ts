interface StreamKindRow {
  /** Number on the wire; never reused for another kind. */
  readonly number: number;
  /** Parameters of a request for such a stream, in wire order. */
  readonly parameters: readonly string[];
}

/** Kinds of streams that a client asks a proxy for, and a proxy an agent. */
export const streamKinds = {
  /** `login`: Unix login, empty when it is not known (jump port). */
  ssh: { number: 1, parameters: ["login"] },
  /** Joins the session whose id is the target. `mode`: observer or peer. */
  join: { number: 2, parameters: ["mode"] },
  app: { number: 3, parameters: [] },
} as const satisfies Readonly<Record<string, StreamKindRow>>;

export type StreamKind = keyof typeof streamKinds;
/** The parameters of a request, by their names. */
export type StreamParameters<Kind extends StreamKind> = { readonly [Name in (typeof streamKinds)[Kind]["parameters"][number]]: string };

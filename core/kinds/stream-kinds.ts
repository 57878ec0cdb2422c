interface StreamKindRow {
  /** Number on the wire; never reused for another kind. */
  readonly number: number;
  /** Parameters of a request for such a stream, in wire order. */
  readonly parameters: readonly string[];
  /** Further ones, which are sent only where they are needed: peers before them know the others alone. */
  readonly optional?: readonly string[];
}

/** Kinds of streams that a client asks a proxy for, and a proxy an agent. */
export const streamKinds = {
  /** `login`: Unix login, empty when it is not known (jump port). */
  ssh: { number: 1, parameters: ["login"] },
  /** Joins the session whose id is the target. `mode`: observer or peer. */
  join: { number: 2, parameters: ["mode"] },
  /** `port`: the target port, of an application that has several (`tcp_ports`). */
  app: { number: 3, parameters: [], optional: ["port"] },
  /**
   * `user` and `name`: account and logical database; empty: whatever the client says. `host`: id of the host whose agent is meant, alone or with one of
   * the marks below; empty: any. `at`: the address that the client has dialled; from a proxy's port for MySQL the number of the connection with which the
   * client was greeted. `member`, of a cluster: `any` or the `host:port` of the member that is meant; it asks for marks in place of members' ports
   * (core/databases/redis/member-marks).
   */
  db: { number: 4, parameters: ["user", "name", "host", "at"], optional: ["member"] },
  /**
   * From a proxy to an agent: an unauthenticated client sends PostgreSQL's CancelRequest. `key`: process id and secret, hexadecimal. The agent gives
   * no reply; the stream ends once the server has the request, or at once for a key that is not one of the agent's. With a database of MySQL as the target, from `tsh` too:
   * `key` is the number of a connection with which its client was greeted, u32 in hexadecimal, and the reply the server's own number of it, u32, or none.
   */
  cancel: { number: 5, parameters: ["key"] },
  /** Carries HTTP. `host`: as for `db`. */
  kube: { number: 6, parameters: ["host"] },
} as const satisfies Readonly<Record<string, StreamKindRow>>;

/** Ends the `host` of a stream that another agent should serve while this one does not reach the resource, and the other one does. */
export const whileHealthy = "?";
/** Stands between the id and a number in the `host` of a stream for an older process of the agent, 1 for the one before; a reload leaves it its sessions. */
export const olderProcess = "@";

export type StreamKind = keyof typeof streamKinds;
type OptionalOf<Row> = Row extends { readonly optional: readonly (infer Name extends string)[] } ? Name : never;
/** The parameters of a request, by their names. */
export type StreamParameters<Kind extends StreamKind> = { readonly [Name in (typeof streamKinds)[Kind]["parameters"][number]]: string } & {
  readonly [Name in OptionalOf<(typeof streamKinds)[Kind]>]?: string;
};

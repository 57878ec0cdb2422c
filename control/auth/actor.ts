/** The author of a change, for the audit log. */
export interface Actor {
  readonly name: string;
  readonly address: string;
}

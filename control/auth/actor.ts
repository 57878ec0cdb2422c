/** Who asks for a change, as it is audited. */
export interface Actor {
  readonly name: string;
  readonly address: string;
}

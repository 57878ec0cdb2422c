/** Pure: when to renew credentials, as Unix time in ms: after a third of their life, spread by `random` in [0, 1) over a tenth of it. */
export function nextRenewal(validity: { readonly from: Date; readonly to: Date }, random: number): number {
  const from = validity.from.getTime();
  const life = Math.max(0, validity.to.getTime() - from);
  return from + life * (0.3 + random * 0.1);
}

import type { AccessCache } from "../routing/access-cache.ts";

/** Revisions of the auth service's state for agents: they fetch what they do not have. */
export interface AccessRevisions {
  readonly accessRevision: string;
  /** Left out while unknown to this proxy. */
  readonly authorities?: string;
  readonly proxies?: string;
}

export function accessRevisions({ revision, authorities, proxiesRevision }: AccessCache): AccessRevisions {
  const proxies = proxiesRevision === undefined ? {} : { proxies: proxiesRevision };
  return { accessRevision: revision, ...(authorities !== undefined && { authorities }), ...proxies };
}

import type { ListedSession } from "../../core/resources/session.ts";

/** Where a session runs: `root@web-1`, or in a pod `prod/shop/web-0`. Pure. */
export function sessionPlace({ login, server_name: host, pod }: ListedSession): string {
  return pod === undefined ? `${login}@${host}` : `${pod.cluster}/${pod.namespace}/${pod.name}`;
}

import type { Recording } from "../../core/resources/recording.ts";

/** Where a recording was made: `root@web-1`; for other services the resource, `db/orders`. Pure. */
export function recordedPlace({ kind, login = "", server_name: host, resource = host }: Recording): string {
  return kind === undefined ? `${login}@${host}` : `${kind}/${resource}`;
}

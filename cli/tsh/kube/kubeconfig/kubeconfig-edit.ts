import type { Entry, ListName } from "./parse-kubeconfig.ts";

/** Changes of one list, by the indexes that its entries have before. */
export interface ListEdit {
  readonly remove: readonly number[];
  readonly replace: ReadonlyMap<number, Entry>;
  readonly append: readonly Entry[];
}

export interface KubeconfigEdit {
  readonly lists: Readonly<Record<ListName, ListEdit>>;
  /** Undefined: unchanged; empty: none. */
  readonly currentContext?: string | undefined;
}

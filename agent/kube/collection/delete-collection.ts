import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { WholeResponse } from "../../http/exchange.ts";
import { successResponse } from "../http/status-response.ts";
import { type Collection, isOnePage, objectTarget, pageTarget } from "./collection-targets.ts";
import { readPage } from "./read-page.ts";

/** A request that would delete several objects together, some of which the roles do not allow. */
export interface PartialDeletion extends Collection {
  readonly mayDelete: (namespace: string, name: string) => boolean;
}

/** The way to the API server, as the user. */
export interface DeletionRoad {
  /** Resolves with the whole answer. Throws PlatformError. */
  readonly list: (target: string) => Promise<WholeResponse>;
  /** Deletes one object with the options of the request. Resolves with the whole answer, which is in the audit log by then. Throws PlatformError. */
  readonly deleteOne: (name: string, at: { readonly path: string; readonly target: string }) => Promise<WholeResponse>;
}

/** Pages that are read, and objects that are deleted, for one request. */
const mostDeleted: Limits = { pages: 200, objects: 5_000 };
const pageSize = 250;

/**
 * Deletes the objects that the request selects and the roles allow, one by one, as the API server itself does: in the order of the list, skipping those that are
 * gone by then, up to the first failure, whose answer is the result. Throws PlatformError, `limit` with objects left.
 */
export async function deleteCollection(deletion: PartialDeletion, road: DeletionRoad, most: Limits = mostDeleted): Promise<WholeResponse> {
  const { namespace, group, resource } = deletion.place;
  let [next, tried] = ["", 0];
  for (let page = 0; page < most.pages; page += 1) {
    const answer = await road.list(pageTarget(deletion, pageSize, next));
    if (answer.head.status !== 200) return answer;
    const listed = readPage(answer.body, namespace);
    for (const name of listed.names) {
      if (!deletion.mayDelete(namespace, name)) continue;
      if (tried >= most.objects) throw leftOver(`${most.objects} objects`);
      tried += 1;
      const done = await road.deleteOne(name, objectTarget(deletion, name));
      const { status } = done.head;
      if (status !== 404 && (status < 200 || status >= 300)) return done;
    }
    next = listed.next;
    if (next === "" || isOnePage(deletion)) return successResponse({ group, kind: resource });
  }
  throw leftOver(`${most.pages} pages of the list`);
}

interface Limits {
  readonly pages: number;
  readonly objects: number;
}

function leftOver(what: string): PlatformError {
  return new PlatformError("limit", `objects are left: one request deletes the objects of ${what} at most where roles allow a part of the objects`, {
    hint: "send the request again",
  });
}

import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Document, PutMode } from "../documents/document.ts";

/** What the API does with one kind of resource; documents are checked against their schema on the way in. */
export interface ResourceMethods {
  list(context: AuthContext): Promise<readonly Document[]>;
  get(context: AuthContext, name: string): Promise<Document>;
  put(context: AuthContext, document: unknown, how: PutMode & { actor: Actor }): Promise<Document>;
  /** Returns what it did besides, a sentence each. */
  delete(context: AuthContext, name: string, actor: Actor): Promise<readonly string[]>;
}

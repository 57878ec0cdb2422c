import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Document, PutMode } from "../documents/document.ts";

/** The API's operations on one kind of resource; incoming documents are checked against their schema. */
export interface ResourceMethods {
  list(context: AuthContext): Promise<readonly Document[]>;
  get(context: AuthContext, name: string): Promise<Document>;
  put(context: AuthContext, document: unknown, how: PutMode & { actor: Actor }): Promise<Document>;
  /** Returns its side effects, a sentence each. */
  delete(context: AuthContext, name: string, actor: Actor): Promise<readonly string[]>;
}

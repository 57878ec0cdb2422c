import { expandTemplate } from "../../../core/access/templates.ts";
import { jwtTemplate } from "../../../core/config/app-service.ts";
import { type HeaderField, isHeaderValue } from "../../../core/resources/app-headers.ts";
import type { Traits } from "../../../core/resources/user.ts";

export interface UserFacts {
  readonly traits: Traits;
  /** The token that names the user. */
  readonly assertion: string;
}

/**
 * The fields that an application's settings set, with their values: one field for each value of a trait. A trait that the user lacks, and a value that no
 * header can have, set nothing; the client's field is dropped all the same. Pure.
 */
export function setHeaders(templates: readonly HeaderField[], { traits, assertion }: UserFacts): readonly HeaderField[] {
  return templates.flatMap(([name, template]) => {
    const text = template.replaceAll(jwtTemplate, () => assertion);
    const values = expandTemplate(text, traits).filter(isHeaderValue);
    return values.map((value) => [name, Buffer.from(value).toString("latin1")] as const);
  });
}

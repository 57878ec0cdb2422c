import fc from "fast-check";
import { anyCharacter } from "./any-character.ts";

const rest = fc.string({ unit: anyCharacter, maxLength: 30 });

/** `https://…` with any path. fast-check's `webUrl` is not used for the reason that `anyCharacter` names. */
export const webAddress: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom("http", "https"), fc.domain(), rest)
  .map(([scheme, host, path]) => `${scheme}://${host}/${encodeURI(path)}`);

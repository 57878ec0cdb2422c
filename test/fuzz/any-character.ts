import fc from "fast-check";

const firstSurrogate = 0xd800;
const surrogates = 0x800;

/**
 * A character of a text: any code point but the halves of surrogate pairs. The same as fast-check's unit "binary", which first makes a map of all
 * 1.1 million, 0.8 s in each process on a busy machine.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10ffff - surrogates).map(characterAt, placeOf);

function characterAt(place: number): string {
  return String.fromCodePoint(place < firstSurrogate ? place : place + surrogates);
}

/** For fast-check, which also tries texts of its own and shrinks given ones. Throws for what is not one character. */
function placeOf(value: unknown): number {
  const point = typeof value === "string" ? value.codePointAt(0) : undefined;
  if (point === undefined || value !== String.fromCodePoint(point) || !value.isWellFormed()) throw new Error("is not a character");
  return point < firstSurrogate ? point : point - surrogates;
}

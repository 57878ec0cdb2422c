import { ArgumentReader } from "./argument-reader.ts";
import { type Command, keptArguments } from "./command.ts";
import { scriptPlace } from "./script-place.ts";

/** A command whose arguments are all here, with as much of them as is kept. Pure. */
export function commandOf(all: readonly Buffer[]): Command {
  const plain = { words: all.slice(0, keptArguments).map((bytes) => ({ bytes, length: bytes.length })), count: all.length };
  const script = scriptPlace(plain);
  const words = plain.words.map(({ bytes, length }, index) => {
    const reader = new ArgumentReader(length, index === script);
    reader.add(bytes, true);
    return reader.end();
  });
  return { words, count: all.length };
}

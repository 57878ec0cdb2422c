/**
 * The program and its arguments in a command line, as a shell takes quotes and backslashes; nothing else has a meaning. Undefined: a quote is not closed, or
 * nothing follows the last backslash. Pure.
 */
export function commandWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let rest = line;
  while (rest !== "") {
    const [piece, text] = nextPiece(rest) ?? [];
    if (piece === undefined) return undefined;
    rest = rest.slice(piece.length);
    if (text !== undefined) word = `${word ?? ""}${text}`;
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}

/** What comes next, and the text that it stands for; no text: the space between two words. */
function nextPiece(rest: string): readonly [piece: string, text?: string] | undefined {
  const space = /^\s+/.exec(rest);
  if (space !== null) return [space[0]];
  const [single, inSingle] = /^'([^']*)'/.exec(rest) ?? [];
  if (single !== undefined && inSingle !== undefined) return [single, inSingle];
  const [double, inDouble] = /^"((?:[^"\\]|\\[\s\S])*)"/.exec(rest) ?? [];
  if (double !== undefined && inDouble !== undefined) return [double, inDouble.replaceAll(/\\(["\\$`])/g, "$1")];
  const [escaped, character] = /^\\([\s\S])/.exec(rest) ?? [];
  if (escaped !== undefined && character !== undefined) return [escaped, character];
  const plain = /^[^\s'"\\]+/.exec(rest);
  return plain === null ? undefined : [plain[0], plain[0]];
}

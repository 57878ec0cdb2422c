/** The action for typed bytes on a terminal: send them, show the help, or leave. */
export interface Typed {
  readonly send: Buffer;
  readonly help: boolean;
  readonly disconnect: boolean;
}

/** The escapes of ssh(1) that make sense here, at the start of a line: `~.` leaves, `~?` helps, `~~` is one tilde; the character can be changed. */
export function createEscape(character = "~"): (chunk: Buffer) => Typed {
  const mark = character.charCodeAt(0);
  let lineStart = true;
  let tilde = false;
  return (chunk) => {
    const send: number[] = [];
    let help = false;
    for (const byte of chunk) {
      if (tilde) {
        tilde = false;
        if (byte === 0x2e) return { send: Buffer.from(send), help, disconnect: true };
        if (byte === 0x3f) {
          help = true;
          lineStart = true;
          continue;
        }
        send.push(mark);
        if (byte === mark) {
          lineStart = false;
          continue;
        }
      } else if (lineStart && byte === mark) {
        tilde = true;
        continue;
      }
      send.push(byte);
      lineStart = byte === 0x0d || byte === 0x0a;
    }
    return { send: Buffer.from(send), help, disconnect: false };
  };
}

export function escapeHelp(character: string): string {
  return `Escapes at the start of a line: ${character}. ends the connection, ${character}${character} sends one ${character}, ${character}? shows this.`;
}

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { until } from "./until.ts";

/** Asks and hears the answer over one connection, again and again. */
export interface Dialogue {
  /** Throws when the connection was cut, or nothing comes back. */
  ask(): Promise<void>;
  /** Says the last words: the status that the connection ended with; of a socket 0, or 1 when it was cut. */
  end(farewell: string): Promise<number | null>;
  kill(): void;
}

interface Parts {
  readonly input: Writable | null;
  readonly outputs: readonly (Readable | null)[];
  readonly closed: Promise<number | null>;
  readonly kill: () => void;
}

/** With a program, whose standard input and outputs are the connection. */
export function dialogueWith(child: ChildProcess, question: (word: string) => string): Dialogue {
  return dialogue(question, {
    input: child.stdin,
    outputs: [child.stdout, child.stderr],
    closed: once(child, "close").then(([code]) => code as number | null),
    kill: () => child.kill("SIGKILL"),
  });
}

/** A dialogue with the other end of a socket. */
export function dialogueOver(socket: Socket, question: (word: string) => string): Dialogue {
  const closed = once(socket, "close").then(
    ([hadError]) => Number(hadError),
    () => 1,
  );
  return dialogue(question, { input: socket, outputs: [socket], closed, kill: () => socket.destroy() });
}

function dialogue(question: (word: string) => string, { input, outputs, closed, kill }: Parts): Dialogue {
  let [text, asked] = ["", 0];
  let ended: string | undefined;
  for (const output of outputs) {
    output?.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-10_000);
    });
  }
  input?.on("error", () => {});
  void closed.then((status) => {
    ended = `status ${status}`;
  });
  return {
    ask: async (): Promise<void> => {
      asked += 1;
      const word = `w${asked}ord${Math.random().toString(36).slice(2)}`;
      input?.write(question(word));
      await until("an answer over the connection that is open", () => {
        if (ended !== undefined) throw new Error(`it was cut: ${ended}\n${text}`);
        return text.includes(word);
      });
    },
    end: async (farewell: string): Promise<number | null> => {
      input?.end(farewell);
      return await closed;
    },
    kill,
  };
}

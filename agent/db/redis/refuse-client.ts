import type { Duplex } from "node:stream";
import { CommandFilter } from "./command-filter.ts";

/** Time until a client's first command, for those that it sends with it, and for the client to read the answers, ms. */
const commandMs = 10_000;
const pipelineMs = 300;
const lingerMs = 5_000;
const maxAnswers = 100;

/**
 * Answers the client's next commands with an error, and closes. An error that answers no command breaks some clients, and others look at it only when
 * all commands that they have sent in one go are answered. Never throws.
 */
export async function refuseClient(client: Duplex, error: Buffer, isMalformed: boolean): Promise<void> {
  if (client.destroyed) return;
  const closed = new Promise<void>((resolve) => void client.once("close", resolve));
  const answered = Promise.withResolvers<void>();
  let answers = 0;
  const answer = (): void => {
    answers += 1;
    if (answers <= maxAnswers) client.write(error);
    answered.resolve();
  };
  const filter = new CommandFilter({ decide: () => "pass", passed: answer });
  let isOver = isMalformed;
  const onData = (chunk: Buffer): void => {
    // What comes after the end is read all the same: unread, it would make the system drop the answers on their way.
    if (isOver) return;
    try {
      filter.push(chunk);
    } catch {
      isOver = true;
      answer();
    }
  };
  if (isMalformed) answer();
  client.on("error", () => {}).on("end", answered.resolve);
  client.on("data", onData).resume();
  await within(commandMs, [closed, answered.promise]);
  if (!isOver) await within(pipelineMs, [closed]);
  isOver = true;
  client.end();
  await within(lingerMs, [closed]);
}

async function within(ms: number, events: readonly Promise<void>[]): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = setTimeout(limit.resolve, ms);
  await Promise.race([limit.promise, ...events]);
  clearTimeout(timer);
}

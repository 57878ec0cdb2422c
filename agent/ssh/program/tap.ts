import { type Readable, Transform } from "node:stream";
import { pump } from "../../service/pump.ts";

/** Passes a source on after `show` has seen each chunk; its promise holds the source back. Ends when the source does. */
export function tap(source: Readable, show: (chunk: Buffer) => Promise<void> | undefined, gone: AbortSignal): Readable {
  const tapped = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const wait = show(chunk);
      if (wait === undefined) done(null, chunk);
      else void wait.then(() => done(null, chunk));
    },
  });
  void pump(source, tapped, gone).then(() => tapped.end());
  return tapped;
}

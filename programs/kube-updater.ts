import { runKubeUpdater } from "../updater/kube/run-kube-updater.ts";

/** The controller that keeps the agents of a release at the wanted version; its exit status. A part of the executable, so that both have one image. */
export async function run(args: readonly string[]): Promise<number> {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort(new Error(`stopped by ${name}`)));
  const write = (stream: NodeJS.WriteStream) => {
    // Without a reader of its log it goes on.
    stream.on("error", () => {});
    return (line: string): void => void stream.write(`${line}\n`);
  };
  return await runKubeUpdater(args, process.env, { out: write(process.stdout), err: write(process.stderr), signal: stop.signal });
}

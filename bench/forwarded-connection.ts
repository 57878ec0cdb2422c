import { once } from "node:events";
import { connect } from "node:net";
import { startEcho } from "../test/world/echo.ts";
import { freePorts } from "../test/world/free-port.ts";
import { output } from "../test/world/program.ts";
import { figure, interleave, percentile, ratio, spread } from "./measure.ts";
import { type Master, startMaster, startSideBySide } from "./side-by-side.ts";

/** One more connection through a forwarded port (`ssh -L`) of a connection that is there: from connect to the first byte that comes back. */
export async function forwardedConnection(rounds: number): Promise<string> {
  await using world = await startSideBySide();
  using echo = await startEcho();
  const { env } = world;
  await using ours = await startMaster(world.ours, world);
  await using theirs = await startMaster(world.theirs, world);
  const [ourPort, theirPort] = (await freePorts(2)) as [number, number];
  const forward = async ({ options, target }: Master, port: number): Promise<void> =>
    void (await output("ssh", [...options, "-O", "forward", "-L", `${port}:127.0.0.1:${echo.port}`, target], { env }));
  await forward(ours, ourPort);
  await forward(theirs, theirPort);
  const candidates = { ours: () => firstByte(ourPort), theirs: () => firstByte(theirPort) };
  await interleave(20, candidates);
  const { ours: our, theirs: their } = await interleave(rounds, candidates);
  const row = (name: string, values: readonly number[]): string =>
    `| ${name} | ${figure(spread(values).median, 1)} | ${figure(percentile(values, 99), 1)} |`;
  return `## One more connection through a forwarded port

A port of \`ssh -L\`, of a stock ssh to our agent and to an sshd behind a jump host: from connect until the first byte has come back from an echo on the host;
${rounds} interleaved rounds, loopback, ms. Our agent has the connection made by a process of the Unix user, and sshd makes it by itself.

| host | p50 | p99 |
|---|---|---|
${row("our agent", our)}
${row("sshd behind a jump host", their)}

Ratio, round by round: **${figure(ratio(our, their).median)} ×**.
`;
}

async function firstByte(port: number): Promise<number> {
  const began = performance.now();
  const socket = connect({ host: "127.0.0.1", port });
  socket.write("x");
  await once(socket, "data");
  const took = performance.now() - began;
  socket.destroy();
  return took;
}

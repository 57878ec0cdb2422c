import { once } from "node:events";
import { connect } from "node:net";
import type { User } from "./cluster-user.ts";
import { dialogueOver } from "./dialogue.ts";
import { echoed, startEcho } from "./echo.ts";
import { freePorts } from "./free-port.ts";
import { start } from "./program.ts";
import { until } from "./until.ts";

/** A port forwarded to the host, and there one forwarded back to an echo here: a connection that stays, and a new one at each question. */
export interface ForwardLoad {
  ask(): Promise<void>;
  /** 0, or 1 when the connection that stays was cut. */
  end(): Promise<number | null>;
  kill(): void;
}

/** `tsh ssh -N -L -R`, until one of its connections is there. */
export async function openForward(user: User, target: string): Promise<ForwardLoad> {
  const echo = await startEcho();
  const [here, there] = (await freePorts(2)) as [number, number];
  const forwards = ["-L", `${here}:127.0.0.1:${there}`, "-R", `${there}:127.0.0.1:${echo.port}`];
  const child = start(user.executable, ["ssh", "-N", ...forwards, target], { env: { TSH_HOME: user.home } });
  const kill = (): void => {
    child.kill("SIGKILL");
    echo[Symbol.dispose]();
  };
  try {
    await until("the port is forwarded both ways", async () => (await echoed({ port: here }, "there")) === "there");
    const socket = connect({ port: here, host: "127.0.0.1" });
    await once(socket, "connect");
    const staying = dialogueOver(socket, (word) => word);
    return {
      ask: async () => {
        await staying.ask();
        const word = Math.random().toString(36);
        const heard = await echoed({ port: here }, word);
        if (heard !== word) throw new Error(`through the forwarded port came ${JSON.stringify(heard)}, not ${word}`);
      },
      end: async () => {
        const status = await staying.end("");
        kill();
        return status;
      },
      kill: () => {
        staying.kill();
        kill();
      },
    };
  } catch (error) {
    kill();
    throw error;
  }
}

import { soak } from "./soak.ts";

/* `make soak`: an hour, so not part of `make bench`. */
const [minutes = "60", perSecond = "5"] = process.argv.slice(2);
const { report, failures } = await soak({ minutes: Number(minutes), perSecond: Number(perSecond) });
process.stdout.write(report);
process.exitCode = failures === 0 ? 0 : 1;

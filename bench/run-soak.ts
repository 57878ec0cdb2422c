import { soak } from "./soak.ts";

/* `make soak`: an hour, so not part of `make bench`. */
const [minutes = "60", perSecond = "5"] = process.argv.slice(2);
process.stdout.write(await soak({ minutes: Number(minutes), perSecond: Number(perSecond) }));

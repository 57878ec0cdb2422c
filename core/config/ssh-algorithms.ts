import { z } from "zod";
import { isAead, knownAlgorithms, type SshAlgorithms, usualAlgorithms } from "../ssh/algorithms.ts";

type Kind = keyof SshAlgorithms;

/** A list of names, as the reference writes it. Omitted for the defaults. */
function algorithmList(kind: Kind) {
  const known: readonly string[] = knownAlgorithms[kind];
  const names = known.join(", ");
  return z
    .array(
      z
        .string()
        .refine((name) => known.includes(name), { error: ({ input }) => `${JSON.stringify(input)} is not supported; the names here are ${names}` }),
    )
    .min(1, `must not be an empty list; the names here are ${names}`)
    .max(64)
    .transform((list) => [...new Set(list)])
    .default([...usualAlgorithms[kind]]);
}

/** Algorithms that our SSH servers offer: the agent's, the jump port's, the tunnel port's. */
export const sshAlgorithmKeys = {
  ciphers: algorithmList("ciphers").refine((list) => list.some(isAead), {
    error: `must hold one of ${knownAlgorithms.ciphers.filter(isAead).join(", ")}: tsh and the cluster's own connections have no others`,
  }),
  kex_algos: algorithmList("kexAlgos"),
  mac_algos: algorithmList("macAlgos"),
};

/** From the section that holds these keys. */
export function sshAlgorithms(section: { readonly ciphers: string[]; readonly kex_algos: string[]; readonly mac_algos: string[] }): SshAlgorithms {
  return { ciphers: section.ciphers, kexAlgos: section.kex_algos, macAlgos: section.mac_algos };
}

import { inject } from "vitest";

/** The folder of the package as it is published. The first test file of a run that asks for it packs it. */
export async function packedPackage(): Promise<string> {
  const response = await fetch(inject("archiveAddress"));
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return answer;
}

// Starts runs of a framework until they wait for a person, prints them and ends. A program of its own: see framework.suite.ts.
import process from "node:process";
import type { ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import type { Turn } from "./framework.suite.ts";
import { RIGS } from "./rigs.ts";
import { openWorld } from "./world.ts";

interface Given {
  rig: keyof typeof RIGS;
  folder: string;
  calls: ScriptedCall[];
  runs: string[];
}

const { rig: name, folder, calls, runs } = JSON.parse(process.argv[2] ?? "{}") as Given;
const { openRig } = await RIGS[name]();
const rig = await openRig(await openWorld(folder));
const turns: Turn[] = [];
for (const run of runs) turns.push(await rig.start(calls, { run }));
process.stdout.write(`${JSON.stringify(turns)}\n`, () => process.exit(0));

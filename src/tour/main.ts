// `npm run test:tools`: the guided tour on a terminal. Ends with 1 when a check did not hold.
import process from "node:process";
import { createExample } from "./example-tools.ts";
import { chooseLanguage } from "./language.ts";
import { runTour } from "./run-tour.ts";

try {
  const language = chooseLanguage(process.argv.slice(2), process.env);
  const colour = process.stdout.isTTY === true && !process.env["NO_COLOR"];
  const { failed } = await runTour(createExample(), { language, colour, write: (line) => console.log(line) });
  if (failed > 0) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof RangeError ? error.message : error);
  process.exitCode = 2;
}

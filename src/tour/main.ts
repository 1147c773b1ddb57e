// `npm run test:tools`: the guided tour on a terminal. Exits with 1 if a check failed.
import process from "node:process";
import { chooseLanguage } from "./page.ts";
import { openExample } from "./example.ts";
import { runTour } from "./run-tour.ts";

// A reader such as `head` may close the pipe.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 2));

try {
  const language = chooseLanguage(process.argv.slice(2), process.env);
  const colour = process.stdout.isTTY === true && !process.env["NO_COLOR"];
  const example = openExample();
  const options = { language, colour, write: (line: string) => console.log(line) };
  try {
    const { failed } = await runTour(example, options);
    if (failed > 0) process.exitCode = 1;
  } finally {
    await example.close();
  }
} catch (error) {
  console.error(error instanceof RangeError ? error.message : error);
  process.exitCode = 2;
}

// Writes the figures of a run to docs/benchmarks.md, between two marks. A missed goal says why in one line: see misses.mjs.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../scripts/root.mjs";
import { MISSES } from "./misses.mjs";
import { significant } from "./report.mjs";

const PAGE = join(ROOT, "docs", "benchmarks.md");
const BEGIN = "<!-- figures: written by npm run bench -- --update -->";
const END = "<!-- end of figures -->";

export function updatePage(rows, { machine, peers, minutes }) {
  const page = readFileSync(PAGE, "utf8");
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error("docs/benchmarks.md has lost its marks.");
  const commit = execFileSync("git", ["rev-parse", "--short=10", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
  const date = new Date().toISOString().slice(0, 10);
  const judged = rows.filter(({ met }) => met !== null);
  const met = judged.filter((row) => row.met).length;
  const figures = [
    BEGIN,
    "",
    `One run on ${date}, commit \`${commit}\`, ${minutes.toFixed(0)} minutes: ${machine} at the start.`,
    `Peers: ${peers}. ${met} of ${judged.length} goals are met.`,
    "",
    "| case | | value | goal | met |",
    "| --- | --- | ---: | ---: | --- |",
    ...rows.map((row, at) => lineOf(row, rows[at - 1])),
    "",
    "",
  ];
  writeFileSync(PAGE, page.slice(0, from) + figures.join("\n") + page.slice(to));
}

function lineOf({ bench, case: title, value, unit, atMost, atLeast, met, note }, previous) {
  const name = previous?.bench === bench ? "" : bench;
  const goal = atMost !== undefined ? `≤ ${atMost}` : atLeast !== undefined ? `≥ ${atLeast}` : "";
  const why = MISSES[`${bench}: ${title}`];
  const judged = met === null ? "" : met ? "yes" : `**no**${why ? `: ${why}` : ""}`;
  const shown = note ?? `${significant(value)} ${unit}`.trim();
  return `| ${[name, title, shown, goal, judged].map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`;
}

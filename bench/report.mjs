// What a run prints: a table for people, or one JSON object a line for programs.
import process from "node:process";

const WIDTH = { case: 52, value: 12, unit: 10, goal: 10 };

export function createReport({ json }) {
  const print = (line) => process.stdout.write(`${line}\n`);
  const missed = [];
  const rows = [];
  let judged = 0;

  const add = (row) => {
    rows.push(row);
    if (row.met !== null) judged++;
    if (row.met === false) missed.push(`${row.bench}: ${row.case}`);
    print(json ? JSON.stringify(forPrograms(row)) : forPeople(row));
  };

  return {
    rows,
    begin(lines) {
      if (json) return;
      for (const line of lines) print(line);
      print("Times are CPU times unless they say wall, medians of rounds taken in turns.");
    },
    bench(name) {
      if (!json) print(`\n${name}`);
      return {
        /** `atMost` or `atLeast` is the goal; without either the row is there to compare with. */
        report({ case: title, value, unit, atMost, atLeast }) {
          const met = atMost !== undefined ? value <= atMost : atLeast !== undefined ? value >= atLeast : null;
          add({ bench: name, case: title, value, unit, atMost, atLeast, met });
        },
        notMeasured(title, why) {
          add({ bench: name, case: title, value: null, unit: "", met: null, note: `not measured: ${why}` });
        },
      };
    },
    caseEnded(seconds) {
      if (!json) print(`  (${seconds.toFixed(0)} s)`);
    },
    end(minutes) {
      if (json) return;
      print(`\nIt took ${minutes.toFixed(1)} min.`);
      print(`\n${judged - missed.length} of ${judged} goals met.${missed.length > 0 ? " Missed:" : ""}`);
      for (const name of missed) print(`  ✗ ${name}`);
    },
  };
}

function forPrograms({ bench, case: title, value, unit, atMost, atLeast, met, note }) {
  const shown = value === null ? null : Number(significant(value));
  return { bench, case: title, value: shown, unit, goal: atMost ?? atLeast ?? null, met, ...(note ? { note } : {}) };
}

function forPeople({ case: title, value, unit, atMost, atLeast, met, note }) {
  if (note) return `  ${title.padEnd(WIDTH.case)} ${note}`;
  const goal = atMost !== undefined ? `≤ ${atMost}` : atLeast !== undefined ? `≥ ${atLeast}` : "";
  const mark = met === null ? "" : met ? "✓" : "✗";
  const columns = [title.padEnd(WIDTH.case), significant(value).padStart(WIDTH.value), unit.padEnd(WIDTH.unit)];
  return `  ${[...columns, goal.padEnd(WIDTH.goal), mark].join(" ")}`.trimEnd();
}

/** Three digits: more would claim what the machine cannot repeat. */
export function significant(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(value.toFixed(Math.min(digits, 6))));
}

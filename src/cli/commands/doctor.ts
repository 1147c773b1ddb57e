import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { examine, examineServer } from "../examine.ts";
import { safeLine, type Style } from "../output.ts";
import { showColumns } from "../show-columns.ts";

const STYLES: Readonly<Record<string, Style>> = { ok: "green", warning: "yellow", broken: "red" };

export const command = defineCommand({
  examples: [
    ["haft doctor", "what works here, what does not, and what to do; exits with 1 where something is broken"],
    ["haft doctor --json", "for a report of a fault"],
  ],
  async run({ folder, url, terminal, output, connect }) {
    const items =
      url === undefined ? await examine({ folder, env: terminal.env }) : await examineServer(await connect());
    output.list({ items }, () =>
      showColumns(
        items.map(({ what, state, found, next }) => [
          state,
          what,
          safeLine(next === undefined ? found : `${found} ${next}`),
        ]),
        { paint: output.paint, styleOf: (cell, column) => (column === 0 ? STYLES[cell] : undefined) },
      ),
    );
    return items.some(({ state }) => state === "broken") ? EXIT.failed : EXIT.done;
  },
});

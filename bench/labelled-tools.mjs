// The labelled sets that the tests of search use, as tools and questions; each file says its format at its head.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../scripts/root.mjs";

/** `{ tools: [{ name, description, parameters }], questions: [{ text, wanted: [name] }] }`, names as a registry takes them. */
export function readLabelledTools(file) {
  const tools = new Map();
  const questions = [];
  let category = "";
  let vendor;
  const path = join(ROOT, "src", "core", "search", "recall", file);
  for (const line of readFileSync(path, "utf8").split("\n")) {
    if (line === "" || line.startsWith("# ")) continue;
    if (line.startsWith("## ")) [category, vendor] = line.slice(3).split(" / ");
    else if (line.startsWith("? ")) questions.push(line.slice(2).split(" => "));
    else {
      const [title, description, parameters = ""] = line.split("|").map((part) => part.trim());
      const id = vendor === undefined ? title : `${vendor}: ${title}`;
      tools.set(id, {
        name: portable(vendor === undefined ? title : `${title}_for_${vendor}`),
        description,
        category,
        parameters: parameters.split(" ").filter(Boolean),
      });
    }
  }
  return {
    tools: [...tools.values()],
    questions: questions.map(([text, wanted]) => ({
      text,
      wanted: wanted.split("; ").map((id) => tools.get(id).name),
    })),
  };
}

function portable(name) {
  return name.replaceAll(/[^\w.]+/g, "_").replace(/^[._]+/, "");
}

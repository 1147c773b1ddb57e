// Recall of tool search on labelled sets: plain, and with the questions of the past.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const FOLDS = 5;
const SEED = 20;
/** A past question that shares more of its words with a question of the test is left out. */
const NEAR = 0.8;

/**
 * Sets of a folder, one a file: `{ tools: [{ id, name, description, parameters }], queries: [{ text, wanted, steps? }] }`. A wanted tool
 * is an id, or a list of ids of which any is right.
 */
export function readSets(folder) {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.sort().map((file) => {
    const { tools, queries } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    return { name: basename(file, ".json"), tools, queries };
  });
}

/** Recall at 5 and 10 and nDCG at 10, as means over the questions. */
export function measure(queries, find) {
  const sums = { recall5: 0, recall10: 0, ndcg10: 0 };
  for (const query of queries) {
    const hits = find(query, 10);
    sums.recall5 += recallOf(query, hits.slice(0, 5));
    sums.recall10 += recallOf(query, hits);
    sums.ndcg10 += ndcgOf(query, hits);
  }
  return Object.fromEntries(Object.entries(sums).map(([key, sum]) => [key, sum / queries.length]));
}

export function recallOf({ wanted }, hits) {
  return wanted.filter((each) => [each].flat().some((id) => hits.includes(id))).length / wanted.length;
}

function ndcgOf({ wanted }, hits) {
  const left = wanted.map((each) => [each].flat());
  let gained = 0;
  for (const [at, hit] of hits.entries()) {
    const found = left.findIndex((ids) => ids.includes(hit));
    if (found === -1) continue;
    left.splice(found, 1);
    gained += 1 / Math.log2(at + 2);
  }
  const ideal = Array.from({ length: Math.min(wanted.length, 10) }, (_, at) => 1 / Math.log2(at + 2));
  return gained / ideal.reduce((sum, each) => sum + each, 0);
}

/**
 * Five parts of the questions with the past questions of each: at most `max` per tool, taken from the other parts, in an order of the
 * seed. A question with several tools is in one part only, and is one past question of each of its tools.
 */
export function splitQuestions(queries, max) {
  const order = shuffle(queries.map((_, at) => at));
  const words = queries.map(({ text }) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu)));
  return Array.from({ length: FOLDS }, (_, fold) => {
    const tested = order.filter((_each, at) => at % FOLDS === fold);
    const past = new Map();
    for (const at of order.filter((_each, place) => place % FOLDS !== fold)) {
      const open = [...new Set(queries[at].wanted.flat())].filter((id) => (past.get(id)?.length ?? 0) < max);
      if (open.length === 0 || tested.some((other) => similarity(words[other], words[at]) >= NEAR)) continue;
      for (const id of open) past.set(id, [...(past.get(id) ?? []), queries[at].text]);
    }
    return { tested: tested.map((at) => queries[at]), past };
  });
}

function similarity(one, other) {
  let shared = 0;
  for (const word of one) if (other.has(word)) shared++;
  return shared / Math.max(1, one.size + other.size - shared);
}

function shuffle(list) {
  let state = SEED;
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let at = list.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [list[at], list[other]] = [list[other], list[at]];
  }
  return list;
}

import { describe, expect, test } from "vitest";
import { QuestionWords } from "./learned-words.ts";
import { createSearchIndex } from "./tool-index.ts";
import { topicsOf } from "./topics.ts";
import { stem } from "./words.ts";

function open() {
  const index = createSearchIndex();
  index.add("coins", { name: "coins", description: "Reads blockchain and crypto figures" });
  index.add("trips", { name: "trips", description: "Plans a vacation" });
  index.add("ledger", { name: "ledger_post", description: "Posts an entry" });
  const find = (query: string, learned?: QuestionWords) => index.search(query, { learned }).map(({ id }) => id);
  return { index, find };
}

describe("topics", () => {
  test("are shared by words that people use for the same thing, in every form of the word", () => {
    expect(topicsOf(stem("bitcoin"))).toEqual(expect.arrayContaining([...topicsOf(stem("blockchains"))]));
    expect(topicsOf(stem("blockchains"))).not.toEqual([]);
    expect(topicsOf("#0")).toEqual([]);
  });

  test("find a tool whose text has none of the words, after those that have one", () => {
    const { index, find } = open();
    expect(find("worth of one bitcoin")).toEqual(["coins"]);
    expect(find("sightseeing")).toEqual(["trips"]);
    index.add("guide", { name: "guide", description: "Sightseeing" });
    expect(find("sightseeing")).toEqual(["guide", "trips"]);
  });

  test("let a past question help others about the same topic", () => {
    const { find } = open();
    const learned = new QuestionWords();
    learned.set("ledger", ["pay my lawyer"]);
    expect(find("attorney")).toEqual([]);
    expect(find("attorney", learned)).toEqual(["ledger"]);
    learned.set("ledger", []);
    expect(find("attorney", learned)).toEqual([]);
  });

  test("leave with the last tool that has them", () => {
    const { index, find } = open();
    index.remove("coins");
    expect(find("bitcoin")).toEqual([]);
    index.add("coins", { name: "coins", description: "Reads blockchain figures" });
    expect(find("bitcoin")).toEqual(["coins"]);
  });
});

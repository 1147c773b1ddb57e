import { describe, expect, test } from "vitest";
import { QuestionWords } from "./learned-words.ts";
import { createSearchIndex } from "./tool-index.ts";

function open() {
  const index = createSearchIndex();
  index.add("ledger", { name: "ledger_post", description: "Posts an entry" });
  index.add("mail", { name: "mail_send", description: "Sends an entry" });
  const learned = new QuestionWords();
  const find = (query: string, words = learned) => index.search(query, { learned: words }).map(({ id }) => id);
  const findPlain = (query: string) => index.search(query).map(({ id }) => id);
  return { index, learned, find, findPlain };
}

describe("words of past questions", () => {
  test("are text of their tools in the searches that have them, and in no other", () => {
    const { learned, find, findPlain } = open();
    learned.set("mail", ["tell my landlord about the entry"]);
    expect(find("landlord")).toEqual(["mail"]);
    expect(findPlain("landlord")).toEqual([]);
    expect(find("landlord", new QuestionWords())).toEqual([]);
    expect(find("entry")[0]).toBe("mail");
    expect(findPlain("entry")).toEqual(["ledger", "mail"]);
  });

  test("follow changes of the questions and of the tools", () => {
    const { index, learned, find } = open();
    learned.set("mail", ["write to the landlord"]);
    expect(find("landlord")).toEqual(["mail"]);
    learned.set("mail", ["write to the tenant"]);
    expect([find("landlord"), find("tenant")]).toEqual([[], ["mail"]]);
    learned.set("ledger", ["note for the tenant"]);
    expect(find("tenant").toSorted()).toEqual(["ledger", "mail"]);
    index.remove("mail");
    index.add("other", { name: "other", description: "Takes the place of the removed tool" });
    expect(find("tenant")).toEqual(["ledger"]);
    learned.set("ledger", []);
    expect(find("tenant")).toEqual([]);
  });

  test("do not outrank the name of a tool, and count once in a question", () => {
    const { learned, find } = open();
    learned.set(
      "mail",
      Array.from({ length: 20 }, () => "ledger_post ledger post ".repeat(8)),
    );
    expect(find("ledger_post")[0]).toBe("ledger");
    const once = open();
    const many = open();
    once.learned.set("mail", ["landlord letter"]);
    many.learned.set("mail", ["landlord letter landlord landlord landlord"]);
    const scoreOf = ({ index, learned: words }: ReturnType<typeof open>) =>
      index.search("landlord", { learned: words })[0]?.score;
    expect(scoreOf(many)).toBe(scoreOf(once));
  });
});

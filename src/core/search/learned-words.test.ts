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
    learned.set("mail", ["tell my zeppelin about the entry"]);
    expect(find("zeppelin")).toEqual(["mail"]);
    expect(findPlain("zeppelin")).toEqual([]);
    expect(find("zeppelin", new QuestionWords())).toEqual([]);
    expect(find("entry")[0]).toBe("mail");
    expect(findPlain("entry")).toEqual(["ledger", "mail"]);
  });

  test("follow changes of the questions and of the tools", () => {
    const { index, learned, find } = open();
    learned.set("mail", ["write to the zeppelin"]);
    expect(find("zeppelin")).toEqual(["mail"]);
    learned.set("mail", ["write to the marzipan"]);
    expect([find("zeppelin"), find("marzipan")]).toEqual([[], ["mail"]]);
    learned.set("ledger", ["note for the marzipan"]);
    expect(find("marzipan").toSorted()).toEqual(["ledger", "mail"]);
    index.remove("mail");
    index.add("other", { name: "other", description: "Takes the place of the removed tool" });
    expect(find("marzipan")).toEqual(["ledger"]);
    learned.set("ledger", []);
    expect(find("marzipan")).toEqual([]);
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
    once.learned.set("mail", ["zeppelin letter"]);
    many.learned.set("mail", ["zeppelin letter zeppelin zeppelin zeppelin"]);
    const scoreOf = ({ index, learned: words }: ReturnType<typeof open>) =>
      index.search("zeppelin", { learned: words })[0]?.score;
    expect(scoreOf(many)).toBe(scoreOf(once));
  });

  test("raise the tools that the same questions needed, below the tool that matches", () => {
    const { learned, find } = open();
    learned.set("mail", ["tell my zeppelin"]);
    learned.set("ledger", ["tell my zeppelin"]);
    learned.set("mail", ["tell my zeppelin", "greet the marzipan"]);
    expect(find("marzipan")).toEqual(["mail", "ledger"]);
    expect(find("mail_send")[0]).toBe("mail");
    learned.set("ledger", ["note the zither"]);
    expect(find("marzipan")).toEqual(["mail"]);
  });

  test("raise none if a question needed very many", () => {
    const { index, learned, find } = open();
    for (let at = 0; at < 30; at++) {
      index.add(`extra${at}`, { name: `extra_${at}` });
      learned.set(`extra${at}`, ["tell my zeppelin"]);
    }
    learned.set("mail", ["tell my zeppelin", "greet the marzipan"]);
    expect(find("marzipan")).toEqual(["mail"]);
  });
});

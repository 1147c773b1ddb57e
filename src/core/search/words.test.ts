import { describe, expect, it } from "vitest";
import { foldCase, scanWords } from "./words.ts";

function wordsOf(text: string): string[] {
  const words: string[] = [];
  scanWords(text, (word) => words.push(word));
  return words;
}

describe("the words of a text", () => {
  it.each([
    ["readFile", ["read", "file"]],
    ["ReadFile", ["read", "file"]],
    ["read_file", ["read", "file"]],
    ["read-file", ["read", "file"]],
    ["fs.readFile", ["fs", "read", "file"]],
    ["parseHTTPResponse", ["parse", "http", "response"]],
    ["getNFTs_metadata", ["get", "nfts", "metadata"]],
    ["getURLs", ["get", "url"]],
  ])("splits the identifier %s", (identifier, parts) => {
    expect(wordsOf(identifier)).toEqual(expect.arrayContaining(parts.flatMap(wordsOf)));
  });

  it("finds a compound in any spelling", () => {
    for (const spelling of ["file_name", "fileName", "FileName", "file-name", "filename"]) {
      expect(wordsOf(spelling)).toContain(wordsOf("filename")[0]);
    }
    expect(wordsOf("YouTube")).toContain(wordsOf("youtube")[0]);
    expect(wordsOf("e-mail")).toContain(wordsOf("email")[0]);
  });

  it("joins all neighbors only if requested", () => {
    const joined = (text: string, joinAll: boolean): string[] => {
      const words: string[] = [];
      scanWords(text, (word, kind) => kind === "joined" && words.push(word), { joinAll });
      return words;
    };
    expect(joined("time zone", true)).toEqual(wordsOf("timezone"));
    expect(joined("time zone", false)).toEqual([]);
    expect(joined("time, zone", true)).toEqual([]);
    expect(joined("get_time_zone", true)).toEqual(["gettim", "timezon"]);
    expect(joined("get_time_zone", false)).toEqual([]);
    expect(joined("list of files", true)).toEqual([]);
  });

  it("keeps digits with their letters, and the letters too", () => {
    expect(wordsOf("base64")).toEqual(["base64", "bas"]);
    expect(wordsOf("3D")).toEqual(["3d"]);
    expect(wordsOf("k8s")).toEqual(["k8s"]);
    expect(wordsOf("MP3Player")).toEqual(expect.arrayContaining(["mp3", "player"]));
    expect(wordsOf("404")).toEqual(["404"]);
  });

  it("drops stop words and lone letters", () => {
    expect(wordsOf("Could you please tell me what is in the a b c of it?")).toEqual([]);
  });

  it("folds case, accents, width and special letters", () => {
    expect(foldCase("Crème BRÛLÉE")).toBe("creme brulee");
    expect(foldCase("ＡＢＣ")).toBe("abc");
    expect(foldCase("Straße")).toBe("strasse");
    expect(wordsOf("Größe")).toEqual(wordsOf("grosse"));
    expect(wordsOf("İstanbul")).toEqual(wordsOf("istanbul"));
    expect(wordsOf("Łódź")).toEqual(wordsOf("lodz"));
  });

  it("cuts Chinese into pairs, at the characters that only bind", () => {
    const pairs = wordsOf("查询天气").filter((word) => word.length === 2);
    expect(pairs).toEqual(["查询", "询天", "天气"]);
    expect(wordsOf("我的天气")).toEqual(expect.arrayContaining(["天气"]));
    expect(wordsOf("我的天气").some((word) => word.includes("的"))).toBe(false);
    expect(wordsOf("发送email给用户")).toEqual(expect.arrayContaining(["发送", "email", "用户"]));
    expect(wordsOf("查")).toEqual(["查"]);
  });

  it("treats characters beyond the basic plane as one", () => {
    expect(wordsOf("𠮷野家")).toEqual(expect.arrayContaining(["𠮷野", "野家"]));
    expect(wordsOf("weather 🌦️ today")).toEqual(wordsOf("weather today"));
  });

  it("reads other scripts", () => {
    expect(wordsOf("ファイル検索")).toEqual(expect.arrayContaining(["ファ", "イル", "検索"]));
    expect(wordsOf("파일검색")).toEqual(expect.arrayContaining(["파일", "검색"]));
    expect(wordsOf("Прогноз погоды")).toEqual(["прогноз", "погоды"]);
    expect(wordsOf("ёлка")).toEqual(wordsOf("елка"));
    expect(wordsOf("مُحَمَّد")).toEqual(wordsOf("محمد"));
    expect(wordsOf("อากาศ")).toContain("อา");
    expect(wordsOf("मौसम की जानकारी")).toContain("मौसम");
  });

  it("survives anything", () => {
    for (const text of ["", " ", "\u0000", "\ud800", "\udc00x", "_-_.", "'''", "\u200b\u200d", "A".repeat(10_000)]) {
      expect(() => wordsOf(text)).not.toThrow();
    }
  });
});

import { describe, expect, it } from "vitest";
import { createSearchIndex, type SearchFields, type SearchOptions } from "./tool-index.ts";

function indexOf(tools: Record<string, Omit<SearchFields, "name">>) {
  const index = createSearchIndex();
  for (const [name, fields] of Object.entries(tools)) index.add(name, { name, ...fields });
  return index;
}

function found(index: ReturnType<typeof indexOf>, query: string, options?: SearchOptions): string[] {
  return index.search(query, options).map((hit) => hit.id);
}

const office = {
  send_email: { description: "Sends a message to recipients.", parameters: ["to", "subject"], tags: ["mail"] },
  readFile: { description: "Returns the content of a file.", aliases: ["Read"], parameters: ["path"] },
  read_file_lines: { description: "Returns some lines.", parameterText: "First line, counted from one." },
  get_weather: { description: "Current conditions.", title: "Weather report", category: "world" },
  list_invoices: { description: "Unpaid bills of customers, newest first." },
};

describe("createSearchIndex", () => {
  it.each(["abcdefghij".repeat(100), "数据库".repeat(333), "aB".repeat(500)])(
    "reads a long word quickly: %.10s",
    (query) => {
      const index = indexOf(office);
      const started = performance.now();
      for (let i = 0; i < 50; i++) index.search(query);
      // It took about 100 ms for each.
      expect(performance.now() - started).toBeLessThan(2_000);
    },
  );

  it("finds by every field", () => {
    const index = indexOf(office);
    for (const [query, id] of [
      ["email", "send_email"],
      ["recipients", "send_email"],
      ["subject", "send_email"],
      ["mail", "send_email"],
      ["report", "get_weather"],
      ["world", "get_weather"],
      ["counted", "read_file_lines"],
    ] as const) {
      expect(found(index, query)[0], query).toBe(id);
    }
  });

  it("puts the exact name first, in any spelling, by any alias, then names with that prefix", () => {
    const index = indexOf(office);
    for (const spelling of ["readFile", "read_file", "READ-FILE", "read file", "Read"]) {
      expect(found(index, spelling)[0], spelling).toBe("readFile");
    }
    expect(found(index, "read_file").slice(0, 2)).toEqual(["readFile", "read_file_lines"]);
    expect(found(index, "read_file_l")[0]).toBe("read_file_lines");
    expect(found(index, "list_inv")[0]).toBe("list_invoices");
  });

  it("finds a name that a sentence mentions", () => {
    const index = indexOf({
      ...office,
      weather_of_files: { description: "content of a file, content, content, content" },
    });
    expect(found(index, "use readFile for the content of weather files")[0]).toBe("readFile");
  });

  it("ranks a tool that is about the words above one that mentions them", () => {
    const index = indexOf({
      audit: { description: "Keeps a long record of everything, among it weather, users, files, mails and much else." },
      weather: { description: "Weather of a city." },
    });
    expect(found(index, "weather in Paris")).toEqual(["weather", "audit"]);
  });

  it("gives rare words more weight than common ones", () => {
    const index = createSearchIndex();
    for (let at = 0; at < 20; at++) index.add(`t${at}`, { name: `get_data_${at}`, description: "Data to get." });
    index.add("lava", { name: "lava", description: "Every volcano." });
    expect(found(index, "get data of a volcano")[0]).toBe("lava");
  });

  it("knows the synonyms of common verbs and nouns", () => {
    const index = indexOf({
      remove_item: { description: "Takes an item away." },
      add_item: { description: "Puts an item in." },
      open_folder: { description: "Opens it." },
    });
    expect(found(index, "delete this item")[0]).toBe("remove_item");
    expect(found(index, "directory")[0]).toBe("open_folder");
  });

  it("corrects a typing mistake in a word that no tool has", () => {
    const index = indexOf(office);
    expect(found(index, "wether")[0]).toBe("get_weather");
    expect(found(index, "invioces")[0]).toBe("list_invoices");
    expect(found(index, "xyzzyplugh")).toEqual([]);
  });

  it("finds a compound that the tool writes apart, and the other way round", () => {
    const index = indexOf({
      convert_time_zone: { description: "Shifts a time." },
      hostname_of: { description: "Name of this machine." },
      search_videos: { description: "Searches YouTube." },
    });
    expect(found(index, "timezone")[0]).toBe("convert_time_zone");
    expect(found(index, "the host name")[0]).toBe("hostname_of");
    expect(found(index, "youtube")[0]).toBe("search_videos");
  });

  it("searches in the language of the descriptions", () => {
    const index = indexOf({
      t1: { description: "查询指定城市的实时天气" },
      t2: { description: "发送电子邮件" },
      t3: { description: "Прогноз погоды на неделю" },
      t4: { description: "Envía un correo electrónico" },
      t5: { description: "พยากรณ์อากาศวันนี้" },
      t6: { description: "파일에서 텍스트를 검색합니다" },
      t7: { description: "ファイルを検索する" },
    });
    for (const [query, id] of [
      ["北京天气怎么样", "t1"],
      ["帮我发一封邮件", "t2"],
      ["какая погода завтра", "t3"],
      ["enviar correo electronico", "t4"],
      ["อากาศ", "t5"],
      ["텍스트 검색", "t6"],
      ["ファイル検索", "t7"],
    ] as const) {
      expect(found(index, query)[0], query).toBe(id);
    }
  });

  it("adds, replaces and removes without leftovers", () => {
    const index = indexOf(office);
    expect(index.size).toBe(5);
    expect(found(index, "unpaid")).toEqual(["list_invoices"]);
    index.add("list_invoices", { name: "list_invoices", description: "Now about volcanoes." });
    expect(found(index, "unpaid")).toEqual([]);
    expect(found(index, "volcano")).toEqual(["list_invoices"]);
    expect(index.remove("list_invoices")).toBe(true);
    expect(index.remove("list_invoices")).toBe(false);
    expect(found(index, "volcano")).toEqual([]);
    expect(found(index, "list_invoices")).not.toContain("list_invoices");
    expect(index.size).toBe(4);
  });

  it("scores after any history like a new index", () => {
    const worn = indexOf(office);
    worn.search("anything");
    for (let round = 0; round < 3; round++) {
      worn.add(`extra${round}`, { name: `extra${round}`, description: "weather message file invoices" });
      worn.search("weather");
      worn.remove("readFile");
      worn.remove(`extra${round}`);
      worn.search("weather");
      worn.add("readFile", { name: "readFile", ...office.readFile });
    }
    const fresh = indexOf(office);
    for (const query of ["read the content of a file", "weather", "send email message", "invoices of customers"]) {
      const scores = (index: typeof fresh) =>
        new Map(index.search(query).map(({ id, score }) => [id, score.toFixed(9)]));
      expect(scores(worn)).toEqual(scores(fresh));
    }
  });

  it("breaks ties by the order of adding, also after slots are reused", () => {
    const index = createSearchIndex();
    for (const id of ["c", "a", "b"]) index.add(id, { name: "same", description: "thing" });
    expect(found(index, "thing")).toEqual(["c", "a", "b"]);
    index.remove("c");
    index.add("c", { name: "same", description: "thing" });
    expect(found(index, "thing")).toEqual(["a", "b", "c"]);
    expect(found(index, "thing", { limit: 2 })).toEqual(["a", "b"]);
  });

  it("filters before it cuts the list", () => {
    const index = createSearchIndex();
    for (let at = 0; at < 100; at++) index.add(`t${at}`, { name: `weather_${at}`, description: "weather" });
    const hits = found(index, "weather", { limit: 3, filter: (id) => Number(id.slice(1)) >= 90 });
    expect(hits).toEqual(["t90", "t91", "t92"]);
    expect(found(index, "weather", { limit: 0 })).toEqual([]);
    expect(found(index, "weather")).toHaveLength(10);
  });

  it("returns nothing for a query without words, and reads only the beginning of a huge one", () => {
    const index = indexOf(office);
    for (const query of ["", "   ", "the of and", "!?"]) expect(found(index, query)).toEqual([]);
    expect(found(index, `${"zzz ".repeat(500)}weather`)).toEqual([]);
    expect(found(index, `weather ${"zzz ".repeat(50_000)}`)).toEqual(["get_weather"]);
    expect(found(createSearchIndex(), "weather")).toEqual([]);
  });

  it("accepts names of object members", () => {
    const index = indexOf({ constructor: { description: "__proto__ toString" }, hasOwnProperty: {} });
    expect(found(index, "constructor")[0]).toBe("constructor");
    expect(found(index, "toString")).toEqual(["constructor"]);
  });
});

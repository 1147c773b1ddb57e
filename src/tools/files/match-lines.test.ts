import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineFinder, FOLDS, splitLines } from "./text-match.ts";

const line = fc.constantFrom("a", " a", "a ", "a b", "ab", "‘q’", "'q'", "", "  ", "f( x )", "f(x)");

test("the loose search finds every run that any fold matches, and narrowing keeps exactly those", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), fc.array(line, { minLength: 1, maxLength: 3 }), (file, wanted) => {
      const finder = createLineFinder(splitLines(file.map((text) => `${text}\n`).join("")));
      const loose = finder.findLoosely(wanted);
      for (const fold of Object.values(FOLDS)) {
        const naive = file.flatMap((_, first) =>
          first + wanted.length <= file.length &&
          wanted.every((want, at) => fold(want) === fold(file[first + at] ?? ""))
            ? [first]
            : [],
        );
        expect(finder.narrow(loose, wanted, fold)).toEqual(naive);
      }
    }),
  );
});

test("narrowing many matches at once equals narrowing them one by one", () => {
  const file = Array.from({ length: 3_000 }, (_, index) => (index % 3 === 0 ? "a " : "a"));
  const finder = createLineFinder(splitLines(file.join("\n")));
  const wanted = Array<string>(9).fill("a");
  wanted[4] = "a ";
  const loose = finder.findLoosely(wanted);
  expect(loose).toHaveLength(2_992);
  expect(finder.narrow(loose, wanted, FOLDS.exact)).toEqual([]);
  expect(finder.narrow(loose, ["a", "a "], FOLDS.exact)).toEqual(
    loose.filter((first) => file[first] === "a" && file[first + 1] === "a "),
  );
});

// A translation has the code of its original, so one of them is executed.
const ORIGINAL = "README.md";
const TRANSLATION = "README.zh-CN.md";

/** README.zh-CN.md has the code of README.md. */
export function compareTranslation(documents) {
  const [original, translation] = [ORIGINAL, TRANSLATION].map((file) => documents.find((each) => each.file === file));
  if (original === undefined || translation === undefined) return [];
  const file = translation.file;
  const problems = [];
  const count = Math.max(original.blocks.length, translation.blocks.length);
  for (let index = 0; index < count; index += 1) {
    const [theirs, ours] = [original.blocks[index], translation.blocks[index]];
    if (ours === undefined)
      return [...problems, { file, line: 1, message: `The block of README.md:${theirs.line} is missing` }];
    if (theirs === undefined)
      return [...problems, { file, line: ours.line, message: "README.md does not have this block" }];
    if (withoutComments(theirs) !== withoutComments(ours))
      problems.push({ file, line: ours.line, message: `The code differs from README.md:${theirs.line}` });
  }
  return problems;
}

/** A comment may be translated, but `# exit 7` is for the runner, and output is what the program prints. */
function withoutComments({ language, code, file, in: terminal, needs, background, output, exemption }) {
  const marks = [language, file, terminal, needs, background, output, exemption].join(" ");
  if (output) return `${marks}\n${code}`;
  const isScript = language === "ts" || language === "js";
  const comment = isScript ? /(?<=^|\s)\/\/.*$/gm : /(?<=^|\s)#(?!\s*exit \d).*$/gm;
  const lines = code
    .replaceAll(comment, "")
    .split("\n")
    .map((line) => line.trim());
  return `${marks}\n${lines.filter(Boolean).join("\n")}`;
}

/** Of a translation with the same code: the document that runs for both. */
export function originalOf({ file }, documents) {
  if (file !== TRANSLATION || compareTranslation(documents).length > 0) return undefined;
  return documents.find((each) => each.file === ORIGINAL);
}

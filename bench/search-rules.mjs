// The rules by which others rank tools for a question, to compare with: each is `(tools) => (question, limit) => ids`.

const K1 = 1.5;
const B = 0.75;

export const SEARCH_RULES = {
  "BM25 over names, descriptions and parameters": (tools) =>
    ranker(
      tools,
      bm25(tools, ({ name, description, parameters }) => wordsIn(`${name} ${description} ${parameters}`)),
    ),
  // Two points for each term in the name, one for each in the description.
  "AI SDK 7, its rule": (tools) => {
    const entries = tools.map(({ name, description }) => [new Set(wordsIn(name)), new Set(wordsIn(description))]);
    return ranker(tools, (question) => {
      const terms = [...new Set(wordsIn(question))];
      return entries.map(([name, description]) =>
        terms.reduce((score, term) => score + (name.has(term) ? 2 : 0) + (description.has(term) ? 1 : 0), 0),
      );
    });
  },
  // BM25 over name and description; of twice as many hits, those whose name has a term are raised.
  "Mastra, its rule": (tools) => {
    const split = (text) =>
      text
        .toLowerCase()
        .split(/[\s\-_.,;:!?()[\]{}'"]+/)
        .filter((word) => word.length > 1);
    const scores = bm25(tools, ({ name, description }) => split(`${name} ${description}`), split);
    return (question, limit) => {
      const terms = split(question);
      const hits = best(scores(question), limit * 2).map(({ at, score }) => {
        const name = tools[at].name.toLowerCase();
        const raised = terms.reduce((sum, term) => sum + (name === term ? 5 : name.includes(term) ? 2 : 0), score);
        return { at, score: raised };
      });
      return hits
        .sort((a, b) => b.score - a.score)
        .slice(0, limit)
        .map(({ at }) => tools[at].id);
    };
  },
};

function ranker(tools, scoresOf) {
  return (question, limit) => best(scoresOf(question), limit).map(({ at }) => tools[at].id);
}

function best(scores, limit) {
  return scores
    .map((score, at) => ({ at, score }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}

/** The scores of all tools for a question. */
function bm25(tools, wordsOf, split = wordsIn) {
  const texts = tools.map((tool) => wordsOf(tool));
  const mean = texts.reduce((sum, words) => sum + words.length, 0) / texts.length;
  const postings = new Map();
  for (const [at, words] of texts.entries()) {
    for (const word of words) {
      const counts = postings.get(word) ?? new Map();
      counts.set(at, (counts.get(at) ?? 0) + 1);
      postings.set(word, counts);
    }
  }
  return (question) => {
    const scores = Array.from(texts, () => 0);
    for (const word of split(question)) {
      const counts = postings.get(word) ?? new Map();
      const rarity = Math.log(1 + (texts.length - counts.size + 0.5) / (counts.size + 0.5));
      for (const [at, count] of counts) {
        scores[at] += (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * texts[at].length) / mean));
      }
    }
    return scores;
  };
}

function wordsIn(text) {
  return (
    text
      .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

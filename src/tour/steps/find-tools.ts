import type { TourStep } from "../tour.ts";

export const findTools: TourStep = {
  title: ["Find tools by category, tag and words", "按分类、标签和关键词查找"],
  async run({ haft, example, page }) {
    const { category, tag, query, finds } = example.search;
    const [english, chinese] = category;
    const inCategory = haft.registry.getByCategory(english);
    const tagged = haft.registry.getByTag(tag);
    const [best] = haft.registry.search(query);
    page.check(
      [`Category ${english}`, `分类 ${chinese}`],
      inCategory.length > 0 && namesOf(inCategory) === namesOf(haft.registry.getByCategory(chinese)),
      [namesOf(inCategory), namesOf(inCategory)],
      namesOf(inCategory),
    );
    page.check(
      [`Tag ${tag}`, `标签 ${tag}`],
      tagged.length > 0 && tagged.every(({ tags }) => tags.includes(tag)),
      [namesOf(tagged), namesOf(tagged)],
      namesOf(tagged),
    );
    page.check([`Search "${query}"`, `搜索 "${query}"`], best?.name === finds, [finds, finds], best?.name ?? "-");
  },
};

function namesOf(tools: readonly { name: string }[]): string {
  return tools.map(({ name }) => name).join(", ");
}

import { shownName, shownNames } from "../shown-name.ts";
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
      inCategory.length > 0 && shownNames(inCategory) === shownNames(haft.registry.getByCategory(chinese)),
      [shownNames(inCategory), shownNames(inCategory)],
      shownNames(inCategory),
    );
    page.check(
      [`Tag ${tag}`, `标签 ${tag}`],
      tagged.length > 0 && tagged.every(({ tags }) => tags.includes(tag)),
      [shownNames(tagged), shownNames(tagged)],
      shownNames(tagged),
    );
    const name = best ? shownName(best) : "-";
    page.check([`Search "${query}"`, `搜索 "${query}"`], name === finds, [finds, finds], name);
  },
};

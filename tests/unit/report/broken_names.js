// The words with a hyphen in answers and tables, and those that stand on several lines.
(() => {
  const broken = [];
  let names = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode;
    if (!text.parentElement.closest(".answer, table")) continue;
    for (const found of text.data.matchAll(/\S*\w-\w\S*/g)) {
      const range = document.createRange();
      range.setStart(text, found.index);
      range.setEnd(text, found.index + found[0].length);
      names += 1;
      const lines = new Set([...range.getClientRects()].map((each) => Math.round(each.top)));
      if (lines.size > 1) broken.push(found[0]);
    }
  }
  return { names, broken };
})();

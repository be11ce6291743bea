// The contrast (WCAG 2.2, 1.4.3) of each kind of text and of each kind of mark in a chart with what
// is behind it.
(() => {
  const channels = (text) => text.match(/[\d.]+/g).map(Number);
  const seen = (colour) => colour !== "none" && (channels(colour)[3] ?? 1) > 0;
  const luminance = (colour) => {
    const [r, g, b] = channels(colour)
      .slice(0, 3)
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const paper = getComputedStyle(document.body).backgroundColor;
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (seen(colour)) return colour;
    }
    return paper;
  };
  // What of a chart is painted under a point: the last filled shape before it that holds the point.
  const under = (svg, mark, x, y) => {
    let found = paper;
    for (const each of svg.querySelectorAll("rect, path, text, line")) {
      if (each === mark) break;
      const fill = getComputedStyle(each).fill;
      const box = each.getBoundingClientRect();
      if (each.tagName !== "text" && each.tagName !== "line" && seen(fill) &&
          box.left <= x && x <= box.right && box.top <= y && y <= box.bottom) found = fill;
    }
    return found;
  };
  const kinds = new Map();
  const note = (kind, what, one, other) => {
    const key = [kind, one, other].join();
    if (!kinds.has(key)) kinds.set(key, { what, contrast: contrast(one, other), one, other });
  };
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || parent.closest("style, svg, .skip")) continue;
    texts += 1;
    note("text", text.slice(0, 40), getComputedStyle(parent).color, behind(parent));
  }
  for (const svg of document.querySelectorAll(".chart svg")) {
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      const fill = getComputedStyle(text).fill;
      if (!text.textContent || !seen(fill)) continue;
      texts += 1;
      const middle = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      note("text", `chart: ${text.textContent.slice(0, 40)}`, fill, under(svg, text, ...middle));
    }
    // Lines of data are thicker than those of a grid.
    for (const line of svg.querySelectorAll("[stroke-width='2']")) {
      const stroke = getComputedStyle(line).stroke;
      if (seen(stroke) && stroke !== paper) note("marks", "line", stroke, paper);
    }
  }
  const of = (kind) => [...kinds].filter(([key]) => key.startsWith(kind)).map(([, each]) => each);
  return {
    texts,
    dark: matchMedia("(prefers-color-scheme: dark)").matches && luminance(paper) < 0.2,
    text: of("text"),
    marks: of("marks"),
  };
})();

/* What a person with other eyes, or none, needs: texts, names and ids of a page that fall short. */
() => {
  const found = [];
  const channel = (c) => { const s = c / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const colour = (text) => { const n = text.match(/[0-9.]+/g).map(Number); return { rgb: n.slice(0, 3), a: n[3] ?? 1 }; };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const { rgb, a } = colour(getComputedStyle(at).backgroundColor);
      if (a === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || node.closest("svg, script, style, noscript") || !node.checkVisibility()) continue;
    texts += 1;
    const [x, y] = [light(colour(getComputedStyle(node).color).rgb), light(behind(node))];
    const ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 40)}`);
  }
  if (texts < 50) found.push(`only ${texts} texts were looked at`);
  for (const node of document.querySelectorAll("button, select, input, [role=region], [role=img]")) {
    const name = node.getAttribute("aria-label") || node.closest("label")?.textContent || node.textContent
      || document.getElementById(node.getAttribute("aria-labelledby"))?.textContent;
    if (!name?.trim()) found.push(`no name: ${node.outerHTML.slice(0, 80)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].filter((n) => !n.closest("svg")).map((n) => n.id);
  if (new Set(ids).size !== ids.length) found.push("an id twice");
  for (const th of document.querySelectorAll("th")) if (!th.scope) found.push(`no scope: ${th.textContent}`);
  for (const link of document.querySelectorAll('a[href^="#"]')) if (!document.getElementById(link.hash.slice(1))) found.push(`dead link ${link.hash}`);
  let level = 0;
  for (const head of document.querySelectorAll("h1, h2, h3, h4")) {
    const own = Number(head.tagName[1]);
    if (own > level + 1) found.push(`heading ${own} below ${level}: ${head.textContent}`);
    level = own;
  }
  return found.slice(0, 12);
}
